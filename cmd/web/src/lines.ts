// The lines of an object answer who set them. Pages of reports and the playground use them.

type Line = HTMLLIElement;

/** A field whose lines may follow. An item is one column behind its dash. */
interface OpenField {
  column: number;
  path: string;
}

/** Returns the text of a line without the name of its layer. */
function textOf(line: Line): string {
  const name = line.querySelector(":scope > b");
  const text = line.textContent ?? "";
  return (name ? text.slice((name.textContent ?? "").length) : text).replace(/\n$/, "");
}

/** Returns the paths of all lines. The page writes only the steps that the text does not show. */
function pathsOf(lines: readonly Line[]): string[] {
  const open: OpenField[] = [];
  const below = (column: number): string => {
    while (open.length > 0 && open[open.length - 1]!.column >= column) {
      open.pop();
    }
    return open.at(-1)?.path ?? "";
  };
  let last = "";
  return lines.map((line) => {
    const match = line.classList.contains("same") ? null : /^( *)(- )?(.*?)(:(?= |$)|$)(.*)/.exec(textOf(line));
    let step = line.dataset["s"] ?? "";
    if (line.classList.contains("loser") || !match || (match[4] === "" && step === "")) {
      return last;
    }
    const key = match[3]!;
    if (step === "k") {
      step = `["${key}"]`;
    } else if (step === "i") {
      step = `[${key}="${match[5]!.trim()}"]`;
    }
    const dash = match[1]!.length;
    let column = dash;
    let item = "";
    if (match[2]) {
      column += 2;
      item = below(dash + 1) + step;
      open.push({ column: dash + 1, path: item });
      if (match[4] === "") {
        return (last = item);
      }
    }
    const parent = below(column);
    const isItsKey = /\[[^\]]*\]$/.exec(parent)?.[0].includes(`${key}=`) ?? false;
    last = isItsKey ? parent : parent + (step !== "" && !match[2] ? step : "." + key);
    open.push({ column, path: last });
    return last;
  });
}

/** Adds an element with text. */
export function add<K extends keyof HTMLElementTagNameMap>(to: Element, tag: K, text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  to.append(made);
  return made;
}

/** Makes the lines of one object answer who set them: on hover, click and by keyboard. */
class Lines {
  private readonly lines: Line[];
  private paths: string[] | undefined;
  private readonly panel: HTMLElement;
  private chosen = -1;

  constructor(
    private readonly list: HTMLOListElement,
    private readonly side: Element,
  ) {
    this.lines = [...list.querySelectorAll<Line>(":scope > li")];
    list.tabIndex = 0;
    list.setAttribute("role", "listbox");
    this.lines.forEach((line, i) => {
      line.setAttribute("role", "option");
      line.setAttribute("aria-selected", "false");
      line.id = `${list.id}-${i}`;
    });
    this.panel = add(side, "div");
    this.panel.className = "who";
    this.panel.setAttribute("role", "status");
    add(this.panel, "p", "Choose a line to see who set it. Arrows move, n and p go to the next and the previous disputed line.");
    list.addEventListener("pointerover", (event) => {
      if (this.chosen < 0) {
        this.show(this.at(event));
      }
    });
    list.addEventListener("click", (event) => {
      const i = this.at(event);
      if (i === this.chosen) {
        this.release();
      } else if (i >= 0) {
        this.choose(i);
      }
    });
    list.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("focusout", () => this.release());
  }

  private at(event: Event): number {
    const line = event.target instanceof Element ? event.target.closest("li") : null;
    return line ? this.lines.indexOf(line) : -1;
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const last = this.lines.length - 1;
    const to = ((): number => {
      switch (event.key) {
        case "ArrowDown":
          return Math.min(this.chosen + 1, last);
        case "ArrowUp":
          return Math.max(this.chosen - 1, 0);
        case "PageDown":
          return Math.min(this.chosen + 20, last);
        case "PageUp":
          return Math.max(this.chosen - 20, 0);
        case "Home":
          return 0;
        case "End":
          return last;
        case "n":
          return this.lines.findIndex((line, i) => i > this.chosen && line.classList.contains("disputed"));
        case "p":
          return this.lines.findLastIndex((line, i) => i < this.chosen && line.classList.contains("disputed"));
        default:
          return -1;
      }
    })();
    if (event.key === "Escape") {
      this.release();
    } else if (to >= 0) {
      event.preventDefault();
      this.choose(to);
    }
  }

  private release(): void {
    this.lines[this.chosen]?.setAttribute("aria-selected", "false");
    this.list.removeAttribute("aria-activedescendant");
    this.panel.classList.remove("chosen");
    this.chosen = -1;
  }

  private choose(i: number): void {
    this.release();
    this.chosen = i;
    const line = this.lines[i];
    if (line) {
      line.setAttribute("aria-selected", "true");
      this.list.setAttribute("aria-activedescendant", line.id);
      this.panel.classList.add("chosen");
      this.show(i);
      this.side.scrollTo({ top: this.side.scrollHeight, behavior: "instant" });
      line.scrollIntoView({ block: "nearest", behavior: "instant" });
    }
  }

  /** Shows the path of a line, its layer and place, and the history of its field. */
  private show(i: number): void {
    let line = this.lines[i];
    while (line?.classList.contains("loser")) {
      line = this.lines[--i];
    }
    if (!line) {
      return;
    }
    this.paths ??= pathsOf(this.lines);
    this.panel.replaceChildren();
    const history = line.dataset["h"] === undefined ? null : document.getElementById(`${this.list.id}h${line.dataset["h"]}`);
    if (history) {
      const table = history.cloneNode(true) as Element;
      table.removeAttribute("id");
      this.panel.append(table);
      return;
    }
    add(this.panel, "h3", line.classList.contains("same") ? textOf(line).trim() : this.paths[i]).className = "path";
    const layer = [...line.classList].find((name) => /^l\d+$/.test(name));
    const stop = layer ? this.side.querySelector<SVGElement>(`.stop.${layer}`) : null;
    if (!layer || !stop) {
      add(this.panel, "p", "No layer sets this line: it leads to others.");
      return;
    }
    const name = (stop.querySelector("title") ?? stop.querySelector("text"))?.textContent ?? "";
    add(this.panel, "p", name.replace(/^\d+\. /, "manager/")).className = `by ${layer}`;
    const file = (stop.dataset["file"] ?? this.list.closest<HTMLElement>("[data-file]")?.dataset["file"]) ?? "";
    const place = line.dataset["p"] ?? "";
    add(this.panel, "p", /^\d+$/.test(place) && file !== "" ? `${file}:${place}` : place).className = "place";
  }
}

/** Lets the lines of an object answer once it is open. */
export function enhance(object: HTMLDetailsElement): void {
  const list = object.querySelector<HTMLOListElement>("ol.own");
  const side = object.querySelector(".side");
  if (object.open && list && side && list.tabIndex < 0) {
    new Lines(list, side);
  }
}
