// Light or dark: as the system says, until the reader chooses; the choice is kept in this browser.

export type Theme = "auto" | "light" | "dark";

const KEY = "numafit-theme";
const ORDER: Theme[] = ["auto", "light", "dark"];

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY) as Theme | null;
    return stored && ORDER.includes(stored) ? stored : "auto";
  } catch {
    // Storage may be switched off.
    return "auto";
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It then lasts as long as the page.
  }
}

export function nextTheme(theme: Theme): Theme {
  return ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]!;
}
