// SPDX-License-Identifier: Apache-2.0
// The page's state after the address's #: a place and settings, "#ranking&filter=tp%3D8&gpus=512",
// so that a link shows what its sender saw. A page from a file has no other part that it may change.

function parts(): string[] {
  return location.hash.replace(/^#/, "").split("&").filter((part) => part !== "");
}

export function place_in_url(): string {
  const first = parts()[0] ?? "";
  return first.includes("=") ? "" : decodeURIComponent(first);
}

export function url_value(key: string): string | null {
  const found = parts().find((part) => part.startsWith(`${key}=`));
  return found === undefined ? null : decodeURIComponent(found.slice(key.length + 1));
}

let settings: string[] = [];

export function set_in_url(key: string, value: string | null): void {
  const place = place_in_url();
  const kept = parts().filter((part) => part.includes("=") && !part.startsWith(`${key}=`));
  if (value !== null) kept.push(`${key}=${encodeURIComponent(value)}`);
  settings = kept;
  const all = [...(place === "" ? [] : [encodeURIComponent(place)]), ...kept];
  history.replaceState(null, "", all.length === 0 ? location.href.replace(/#.*/, "") : `#${all.join("&")}`);
}

function go(place: string): void {
  const target = place === "" ? null : document.getElementById(place);
  target?.closest("details")?.setAttribute("open", "");
  target?.scrollIntoView({ behavior: "instant" });
}

// A link inside the page takes the settings along, and one with settings finds its place.
export function watch_places(): void {
  settings = parts().filter((part) => part.includes("="));
  if (place_in_url() !== "" || settings.length > 0) {
    history.scrollRestoration = "manual";
    go(place_in_url());
    setTimeout(() => go(place_in_url()), 200); // once all is laid out
  }
  addEventListener("hashchange", () => {
    const now = parts().filter((part) => part.includes("="));
    const place = place_in_url();
    if (now.length === 0 && settings.length > 0) history.replaceState(null, "", `#${[place, ...settings].join("&")}`);
    else settings = now;
    go(place);
  });
}
