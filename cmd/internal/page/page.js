// The script of a page. Without it, the page shows everything except the answer beside a chosen line.
"use strict";
const add = (to, tag, text = "") => to.appendChild(Object.assign(document.createElement(tag), {textContent: text}));

// textOf returns the text of a line without the name of its layer.
function textOf(line) {
	const name = line.querySelector(":scope > b")?.textContent ?? "";
	return line.textContent.slice(name.length).replace(/\n$/, "");
}

// enhance lets the lines of an open object answer who set them: on hover, by a click and by keyboard.
function enhance(object) {
	const list = object.querySelector("ol.own"), side = object.querySelector(".side");
	if (!object.open || !list || !side || list.tabIndex >= 0) return;
	const lines = [...list.querySelectorAll(":scope > li")];
	list.tabIndex = 0;
	list.setAttribute("role", "listbox");
	lines.forEach((line, i) => {
		line.setAttribute("role", "option");
		line.setAttribute("aria-selected", "false");
		line.id = `${list.id}-${i}`;
	});
	const panel = add(side, "div");
	panel.className = "who";
	panel.setAttribute("role", "status");
	add(panel, "p", "Choose a line to see who set it. Arrows move, n and p go to the next and the previous disputed line.");
	let chosen = -1;

	// show writes the path of a line, its layer and place, or the history of its field.
	const show = (i) => {
		while (lines[i]?.classList.contains("loser")) i--;
		const line = lines[i];
		if (!line) return;
		panel.replaceChildren();
		const history = line.dataset.h === undefined ? null : document.getElementById(`${list.id}h${line.dataset.h}`);
		if (history) return panel.appendChild(history.cloneNode(true)).removeAttribute("id");
		add(panel, "h3", line.dataset.f ?? textOf(line).trim()).className = "path";
		const layer = [...line.classList].find((name) => /^l\d+$/.test(name));
		const stop = layer && side.querySelector(`.stop.${layer}`);
		if (!stop) return add(panel, "p", "Nobody sets this line: it leads to others.");
		const name = stop.querySelector("b").textContent;
		add(panel, "p", name.replace(/^\d+\. /, "manager/")).className = `by ${layer}`;
		const file = stop.dataset.file ?? list.closest("[data-file]")?.dataset.file ?? "", place = line.dataset.p ?? "";
		add(panel, "p", /^\d+$/.test(place) && file !== "" ? `${file}:${place}` : place).className = "place";
	};
	const release = () => {
		lines[chosen]?.setAttribute("aria-selected", "false");
		list.removeAttribute("aria-activedescendant");
		panel.classList.remove("chosen");
		chosen = -1;
	};
	const choose = (i) => {
		release();
		chosen = i;
		lines[i].setAttribute("aria-selected", "true");
		list.setAttribute("aria-activedescendant", lines[i].id);
		panel.classList.add("chosen");
		show(i);
		side.scrollTo({top: side.scrollHeight, behavior: "instant"});
		lines[i].scrollIntoView({block: "nearest", behavior: "instant"});
	};
	const at = (event) => lines.indexOf(event.target.closest("li"));
	const moves = {
		ArrowDown: () => Math.min(chosen + 1, lines.length - 1),
		ArrowUp: () => Math.max(chosen - 1, 0),
		Home: () => 0,
		End: () => lines.length - 1,
		n: () => lines.findIndex((line, i) => i > chosen && line.matches(".disputed")),
		p: () => lines.findLastIndex((line, i) => i < chosen && line.matches(".disputed")),
	};
	list.addEventListener("pointerover", (event) => chosen < 0 && show(at(event)));
	list.addEventListener("click", (event) => {
		const i = at(event);
		if (i >= 0) i === chosen ? release() : choose(i);
	});
	list.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.key === "Escape") release();
		const to = Object.hasOwn(moves, event.key) ? moves[event.key]() : -1;
		if (to < 0) return;
		event.preventDefault();
		choose(to);
	});
	list.addEventListener("focusout", release);
}

// addSearch adds a search to a page with several objects, and buttons that open and close all of them.
function addSearch(objects) {
	if (objects.length < 3) return;
	const find = add(document.querySelector("header"), "div"), input = add(find, "input");
	find.className = "find";
	Object.assign(input, {type: "search", placeholder: "Find a name, field or value", ariaLabel: "Find a name, field or value"});
	input.addEventListener("input", () => {
		const want = input.value.trim().toLowerCase();
		for (const object of objects) object.hidden = !object.textContent.toLowerCase().includes(want);
		for (const row of document.querySelectorAll("nav tbody tr")) {
			row.hidden = document.getElementById(row.querySelector("a")?.hash.slice(1))?.hidden ?? false;
		}
	});
	for (const open of [true, false]) {
		const button = Object.assign(add(find, "button", open ? "Open all" : "Close all"), {type: "button"});
		button.addEventListener("click", () => objects.forEach((object) => (object.open = open)));
	}
}

// openTarget opens the object that the address names.
function openTarget() {
	const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
	for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
	target?.scrollIntoView();
}

const objects = [...document.querySelectorAll("details.object")];
for (const object of objects) object.addEventListener("toggle", () => enhance(object));
objects.forEach(enhance);
addSearch(objects);
addEventListener("hashchange", openTarget);
openTarget();
