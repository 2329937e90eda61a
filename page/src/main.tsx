// The start: the style, the theme, the page.

import { render } from "preact";
import { App } from "./app";
import { FleetApp } from "./fleet/fleet_app";
import { Mishap } from "./mishap";
import "./style/tokens.css";
import "./style/base.css";
import "./style/drawing.css";
import "./style/machine.css";
import "./style/what_if.css";
import "./style/telling.css";
import "./style/lying.css";
import "./style/story.css";
import "./style/asking.css";
import "./style/fleet.css";
import "./style/use.css";
import "./style/narrow.css";
import { applyTheme, storedTheme } from "./theme";

applyTheme(storedTheme());
const shows = document.documentElement.dataset["shows"];
render(<Mishap>{shows === "fleet" ? <FleetApp /> : <App />}</Mishap>, document.getElementById("page")!);
