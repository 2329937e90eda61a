"""The colours of the pictures, light and dark: role -> (fill, stroke). Texts are legible on every fill."""

from collections.abc import Mapping
from typing import Literal

Theme = Literal["auto", "light", "dark"]
Colours = Mapping[str, tuple[str, str]]

LIGHT: Colours = {
    "page": ("#ffffff", "none"),
    "package": ("#f3f5f8", "#b9c4cf"),
    "node": ("#ffffff", "#7d90a5"),
    "band": ("#edf2fa", "#c3d2e8"),
    "core": ("#d7e4f5", "#8fabd0"),
    "efficiency": ("#dcefdc", "#8cbf8c"),
    "isolated": ("#fbe9d2", "#d0913c"),
    "gpu": ("#e0f2cf", "#6fa83a"),
    "mig": ("#e0f2cf", "#6fa83a"),
    "nic": ("#fdebcb", "#d39c3c"),
    "nvme": ("#eae4f6", "#a08ac9"),
    "other": ("#e9ecef", "#9aa5b1"),
    "memory": ("#ffffff", "#7d90a5"),
    "switch": ("#f9f5ea", "#cbb98c"),
    "pill": ("#ffffff", "#5c8f22"),
    "near": ("#c6e6a6", "#ffffff"),
    "middle": ("#fdebcb", "#ffffff"),
    "far": ("#f6d9d5", "#ffffff"),
    "self": ("#e9ecef", "#ffffff"),
}
DARK: Colours = {
    "page": ("#0f151c", "none"),
    "package": ("#161f29", "#3a4a5a"),
    "node": ("#1b2632", "#5f758c"),
    "band": ("#203044", "#38506c"),
    "core": ("#2b4564", "#567ca8"),
    "efficiency": ("#26482f", "#5a9a6a"),
    "isolated": ("#553b17", "#c08a3e"),
    "gpu": ("#2c4a17", "#79b13f"),
    "mig": ("#2c4a17", "#79b13f"),
    "nic": ("#523a12", "#c9963f"),
    "nvme": ("#372c52", "#9680c6"),
    "other": ("#2c353e", "#77838f"),
    "memory": ("#1b2632", "#5f758c"),
    "switch": ("#2a261a", "#75673f"),
    "pill": ("#0f151c", "#8cc152"),
    "near": ("#38601a", "#0f151c"),
    "middle": ("#5c4416", "#0f151c"),
    "far": ("#5f2b27", "#0f151c"),
    "self": ("#2c353e", "#0f151c"),
}
LIGHT_TEXT, DARK_TEXT = ("#17212b", "#516171"), ("#e8eef4", "#a3b3c2")
"""Plain and muted."""
LIGHT_WIRES: Mapping[str, str] = {"wire": "#7d90a5", "nvlink": "#5c8f22"}
DARK_WIRES: Mapping[str, str] = {"wire": "#7c93aa", "nvlink": "#8cc152"}

# Owners of CPUs and devices; beyond eight the colours repeat and only the legend's order tells.
LIGHT_OWNERS = ("#ffd48a", "#a9d3ff", "#c5e8a5", "#f4b8c9", "#d3c1f2", "#9fe3d6", "#ecd9b4", "#c9d2da")
DARK_OWNERS = ("#7a5410", "#1d5288", "#3d6420", "#7d3048", "#4d3a7c", "#176358", "#5f4d28", "#46525d")


def style_sheet(theme: Theme) -> str:
    if theme == "dark":
        return _rules(DARK, DARK_TEXT, DARK_WIRES, DARK_OWNERS)
    light = _rules(LIGHT, LIGHT_TEXT, LIGHT_WIRES, LIGHT_OWNERS)
    if theme == "light":
        return light
    dark = _rules(DARK, DARK_TEXT, DARK_WIRES, DARK_OWNERS)
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _rules(colours: Colours, texts: tuple[str, str], wires: Mapping[str, str], owners: tuple[str, ...]) -> str:
    rules = [f".nf-{role}{{fill:{fill};stroke:{stroke}}}" for role, (fill, stroke) in colours.items()]
    rules += [f".nf-owner{number}{{fill:{fill};stroke:{texts[1]}}}" for number, fill in enumerate(owners)]
    rules += [f".nf-{role}{{fill:none;stroke:{stroke}}}" for role, stroke in wires.items()]
    rules.append(f".nf-text{{fill:{texts[0]}}}.nf-muted{{fill:{texts[1]}}}")
    return "\n".join(rules)
