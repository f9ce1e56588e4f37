// What a page does with a script. Without it, the same page shows everything, except the answer beside a chosen line.

import { add, enhance } from "./lines";

/** Adds a search to a page with several objects or findings, and buttons that open and close all of them. */
function addSearch(): void {
  const items = [...document.querySelectorAll<HTMLElement>("details.object, .entry")];
  const header = document.querySelector("header");
  if (items.length < 3 || !header) {
    return;
  }
  const cards = [...document.querySelectorAll<HTMLElement>(".card")];
  const rows = [...document.querySelectorAll<HTMLElement>("nav tbody tr")];
  const find = add(header, "div");
  find.className = "find";
  const input = add(find, "input");
  input.type = "search";
  input.placeholder = "Find a name, field or value";
  input.setAttribute("aria-label", input.placeholder);
  input.addEventListener("input", () => {
    const want = input.value.trim().toLowerCase();
    const hidden = new Set<string>();
    for (const item of items) {
      const text = `${item.closest(".card")?.querySelector("h3")?.textContent ?? ""} ${item.textContent ?? ""}`;
      item.hidden = want !== "" && !text.toLowerCase().includes(want);
      if (item.hidden) {
        hidden.add(`#${item.id}`);
      }
    }
    for (const card of cards) {
      card.hidden = !card.querySelector(".entry:not([hidden])");
    }
    for (const row of rows) {
      row.hidden = hidden.has(row.querySelector("a")?.getAttribute("href") ?? "");
    }
  });
  const objects = items.filter((item) => item instanceof HTMLDetailsElement);
  for (const open of objects.length > 0 ? [true, false] : []) {
    const button = add(find, "button", open ? "Open all" : "Close all");
    button.type = "button";
    button.addEventListener("click", () => objects.forEach((object) => (object.open = open)));
  }
}

/** Opens the object that the address names. */
function openTarget(): void {
  const target = location.hash === "" ? null : document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target?.closest("details"); at; at = at.parentElement?.closest("details")) {
    at.open = true;
  }
  target?.scrollIntoView();
}

for (const object of document.querySelectorAll<HTMLDetailsElement>("details.object")) {
  enhance(object);
  object.addEventListener("toggle", () => enhance(object));
}
addSearch();
addEventListener("hashchange", openTarget);
openTarget();
