// SPDX-License-Identifier: Apache-2.0
// Sections that follow each other become tabs (WAI-ARIA tab pattern: arrow keys, Home, End).

export function make_tabs(group: HTMLElement): void {
  const panels = [...group.querySelectorAll<HTMLElement>(":scope > .tab")];
  if (panels.length < 2) return;
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  const heading = group.getAttribute("aria-label");
  if (heading !== null) list.setAttribute("aria-label", heading);
  const buttons = panels.map((panel, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `${panel.id}-tab`;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", panel.id);
    button.textContent = panel.querySelector("h3")?.textContent ?? `${index + 1}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    panel.querySelector("h3")?.classList.add("tab-heading");
    return button;
  });
  const choose = (chosen: number, focus: boolean) => {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", `${index === chosen}`);
      button.tabIndex = index === chosen ? 0 : -1;
      panels[index].classList.toggle("hidden-tab", index !== chosen);
    });
    if (focus) buttons[chosen].focus();
  };
  buttons.forEach((button, index) => {
    button.addEventListener("click", () => choose(index, false));
    button.addEventListener("keydown", (event) => {
      const last = buttons.length - 1;
      const next: Record<string, number> = {
        ArrowRight: index === last ? 0 : index + 1,
        ArrowLeft: index === 0 ? last : index - 1,
        Home: 0,
        End: last,
      };
      if (!(event.key in next)) return;
      event.preventDefault();
      choose(next[event.key], true);
    });
  });
  list.append(...buttons);
  group.prepend(list);
  choose(0, false);
}
