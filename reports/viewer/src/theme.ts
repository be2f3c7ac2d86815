// SPDX-License-Identifier: Apache-2.0
// The page's colours for the charts, light or dark.

export interface Theme {
  text: string;
  soft: string;
  line: string;
  panel: string;
  page: string;
  heat: [string, string];
}

// What the button chose, else what the system prefers; paper is light.
export function is_dark(): boolean {
  if (matchMedia("print").matches) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
}

export function add_theme_button(redraw: () => void): void {
  const list = document.querySelector("nav ul");
  if (list === null) return;
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.id = "theme";
  const name = () => (button.textContent = is_dark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = is_dark() ? "light" : "dark";
    name();
    redraw();
  });
  name();
  item.append(button);
  list.append(item);
}

export function theme_of_page(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: value("--text"),
    soft: value("--soft"),
    line: value("--line"),
    panel: value("--panel"),
    page: value("--page"),
    heat: [value("--heat-high"), value("--heat-low")],
  };
}

// What all charts share.
export function base_option(theme: Theme) {
  return {
    animation: false,
    textStyle: { color: theme.text, fontFamily: "system-ui, sans-serif", fontSize: 12 },
    tooltip: {
      confine: true,
      extraCssText: "max-width:min(28rem,92vw);white-space:normal;overflow-wrap:anywhere",
      backgroundColor: theme.panel,
      borderColor: theme.line,
      textStyle: { color: theme.text, fontSize: 12 },
    },
  };
}

export function value_axis(theme: Theme, name: string) {
  return {
    type: "value" as const,
    name,
    nameLocation: "middle" as const,
    nameGap: 30,
    nameTextStyle: { color: theme.soft },
    axisLabel: { color: theme.soft, hideOverlap: true },
    axisLine: { lineStyle: { color: theme.line } },
    splitLine: { lineStyle: { color: theme.line, opacity: 0.6 } },
  };
}

export function category_axis(theme: Theme, data: string[], name = "") {
  return {
    type: "category" as const,
    data,
    name,
    nameLocation: "middle" as const,
    nameGap: 30,
    nameTextStyle: { color: theme.soft },
    axisLabel: { color: theme.text },
    axisLine: { lineStyle: { color: theme.line } },
    axisTick: { show: false },
  };
}

// Narrower drawings have no room for long labels: a phone's.
export function is_narrow(width: number): boolean {
  return width < 600;
}

// The page draws the legend itself, as buttons (legend.ts); this one only knows what is chosen.
export const kLegend = { show: false };
