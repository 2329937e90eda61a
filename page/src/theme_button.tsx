// The button that turns the colours: as the system has them, light, dark.

import { useState } from "preact/hooks";
import { applyTheme, nextTheme, storedTheme } from "./theme";

const THEMES = { auto: "◐", light: "☀", dark: "☾" };

export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme());
  const turn = () => {
    const next = nextTheme(theme);
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button
      type="button"
      class="theme"
      title={`Colours: ${theme}`}
      aria-label={`Colours: ${theme}. Change`}
      onClick={turn}
    >
      {THEMES[theme]}
    </button>
  );
}
