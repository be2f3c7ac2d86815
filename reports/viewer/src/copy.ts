// SPDX-License-Identifier: Apache-2.0
// Copies text. A page opened from a file may have no clipboard interface; selecting a field then does.

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

export function copy_button(label: string, text: () => string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = label;
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

// A button above every <pre class="copyable">.
export function add_copy_buttons(): void {
  for (const block of document.querySelectorAll<HTMLElement>("pre.copyable")) {
    block.before(copy_button("Copy", () => block.textContent ?? ""));
  }
}
