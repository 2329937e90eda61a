"""Colours and type of the agent's page (`page/src/style`), and what pages without a script add."""

LIGHT = {
    "ground": "#f4f6f8",
    "surface": "#ffffff",
    "sunken": "#eef1f4",
    "ink": "#16212b",
    "muted": "#52616d",
    "line": "#d3dbe2",
    "strong-line": "#8b9aa7",
    "accent": "#1b5fae",
    "good": "#17703f",
    "bad": "#ae2a1d",
    "warn": "#8a5300",
}
DARK = {
    "ground": "#0d1319",
    "surface": "#151d26",
    "sunken": "#1b2530",
    "ink": "#e6edf3",
    "muted": "#9dafbe",
    "line": "#2b3844",
    "strong-line": "#64778a",
    "accent": "#84bdf7",
    "good": "#6fd39b",
    "bad": "#ff9d90",
    "warn": "#f0be6a",
}
OF_RULES = {"most": ("#b4540a", "#f2a65a"), "least": ("#7b3fb0", "#c4a1f5"), "stock": ("#0f7a72", "#5fd0c5")}
"""Light and dark; ours has the accent of the page."""
FONT = '14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'
_FRAME = """\
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
h1, h2, h3, p, ul, figure { margin: 0; padding: 0; }
h1 { font-size: 17px; font-weight: 650; letter-spacing: -0.01em; }
h2 { margin: 28px 0 8px; font-size: 15px; font-weight: 600; }
h3 { font-size: 13px; font-weight: 600; }
header { padding: 8px 16px; background: var(--surface); border-bottom: 1px solid var(--line); }
header p, .note { color: var(--muted); font-size: 12.5px; }
main { max-width: 1280px; margin: 0 auto; padding: 4px 16px 32px; }
.note { margin-bottom: 8px; max-width: 90ch; }
.card { padding: 12px; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--line); text-align: right; font-weight: 400; }
thead th { color: var(--muted); font-size: 12.5px; font-weight: 500; vertical-align: bottom; }
th:first-child { padding-left: 0; text-align: left; }
td:last-child, th:last-child { padding-right: 0; }
tbody tr:last-child > * { border-bottom: 0; }
.shares { display: grid; grid-template-columns: max-content 1fr; gap: 6px 12px; align-items: center; }
.share { display: flex; height: 18px; overflow: hidden; background: var(--sunken); border-radius: 4px; }
.share i { display: block; }
.at-once { background: var(--good); }
.later { background: var(--warn); }
.never { background: var(--bad); }
.key { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 0 0 12px; list-style: none; color: var(--muted);
  font-size: 12.5px; }
.key li { display: flex; gap: 6px; align-items: center; }
.key i { width: 12px; height: 12px; border-radius: 3px; }
.key svg { width: 28px; height: 8px; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(330px, 100%), 1fr)); gap: 12px; }
.plots.beside { grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); align-items: start; }
main > .note { margin-top: 12px; }
.plots svg { display: block; width: 100%; height: auto; margin-top: 4px; }
.plots text { fill: var(--muted); font-size: 11px; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--strong-line); stroke-width: 1; }
.rule { fill: none; stroke-width: 1.75; stroke-linejoin: round; }
.rule.numafit { stroke: var(--accent); stroke-width: 2.5; }
.rule.most { stroke: var(--most); }
.rule.least { stroke: var(--least); }
.rule.stock { stroke: var(--stock); }
.rule.blind { stroke-dasharray: 5 3; }
.rule.now { stroke: var(--strong-line); }
.rule.first { stroke: var(--accent); stroke-width: 2.5; }
.rule.second { stroke: var(--most); }
.rule.third { stroke: var(--least); }
.limit { stroke: var(--warn); stroke-width: 1.5; stroke-dasharray: 5 3; }
.good-dot { fill: var(--good); }
.bad-dot { fill: var(--bad); }
.verdict { margin: 0 0 8px; max-width: 90ch; }
.amount { display: flex; gap: 8px; align-items: center; font-variant-numeric: tabular-nums; }
.amount i { height: 14px; min-width: 2px; border-radius: 4px; }
.amount b { color: var(--muted); font-weight: 400; font-size: 12.5px; }
.before { background: var(--strong-line); }
.after { background: var(--accent); }
.notes li { margin: 4px 0 4px 18px; list-style: disc; color: var(--muted); overflow-wrap: anywhere;
  white-space: pre-wrap; }
@media (max-width: 900px) { .plots.beside { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 560px) {
  main { padding: 4px 12px 24px; }
  .shares { grid-template-columns: 1fr; gap: 2px; }
  th:first-child { position: sticky; left: 0; background: var(--surface) padding-box; white-space: normal; }
  .shares .share, .shares .amount { margin-bottom: 8px; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } }
"""


def style_text() -> str:
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in (*theme.items(), *rules))
        for theme, rules in (
            (LIGHT, [(name, own[0]) for name, own in OF_RULES.items()]),
            (DARK, [(name, own[1]) for name, own in OF_RULES.items()]),
        )
    )
    return (
        f":root {{ color-scheme: light; {light} font: {FONT}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n{_FRAME}"
    )
