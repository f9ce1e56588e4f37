// The editors of the playground, and the marks at places that findings name.

import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Text, Transaction } from "@codemirror/state";
import { closeHoverTooltips, hasHoverTooltips, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup, EditorView } from "codemirror";

/** A finding as -o json writes it. Its claims are the values that managers set. Line 0 is no place. */
export interface Finding extends Place {
  code: string;
  severity: "error" | "warning" | "note";
  message: string;
  help: string;
  claims: (Place & { layer: string; value: unknown; present?: boolean })[];
}

interface Place {
  file: string;
  line: number;
  column: number;
}

/** The colors of YAML, which the style of all pages has in both schemes. None is the color of a layer. */
const colors = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: "var(--link)" },
  { tag: tags.comment, color: "var(--quiet)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--addedtext)" },
]);

/** The style of a mark. It has no image, which the policy forbids. The shape tells the severity as well as the color. */
function mark(severity: string, color: string, line: string, shape: string): Record<string, Record<string, string>> {
  return {
    [`.cm-lintRange-${severity}`]: { backgroundImage: "none", paddingBottom: "0", borderBottom: `2px ${line} ${color}` },
    [`.cm-lint-marker-${severity}`]: { content: "normal", backgroundColor: color, clipPath: shape },
    [`.cm-diagnostic-${severity}`]: { borderLeft: `5px solid ${color}` },
  };
}

const style = EditorView.theme({
  "&": { fontSize: "13px", maxHeight: "42vh", color: "var(--text)", backgroundColor: "var(--back)" },
  ".cm-scroller": { overflow: "auto", fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace' },
  ".cm-gutters": { backgroundColor: "var(--soft)", color: "var(--quiet)", borderColor: "var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--soft)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--mark) !important" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--back)", color: "var(--text)", borderColor: "var(--quiet)" },
  ".cm-tooltip-lint, .cm-tooltip-section": { maxWidth: "min(40rem, 90vw)" },
  ".cm-diagnosticText": { whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  ".cm-panel.cm-panel-lint ul [aria-selected], .cm-panel.cm-panel-lint ul:focus [aria-selected]": { backgroundColor: "var(--mark)", color: "var(--text)" },
  ".cm-lintRange-active": { backgroundColor: "var(--mark)" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "4px 3px" },
  ".cm-lint-marker": { width: "9px", height: "9px" },
  ...mark("error", "var(--error)", "solid", "circle()"),
  ...mark("warning", "var(--warning)", "dashed", "polygon(50% 0, 100% 100%, 0 100%)"),
  ...mark("info", "var(--note)", "dotted", "inset(15%)"),
});

/** Closes the text of a mark. */
const escape = keymap.of([{ key: "Escape", run: (view) => hasHoverTooltips(view.state) && (view.dispatch({ effects: closeHoverTooltips }), true) }]);

/** Makes an editor in a shadow root, where its style needs no permission of the policy. It calls changed after a user's change. */
export function edit(host: HTMLElement, changed: () => void): EditorView {
  const root = host.attachShadow({ mode: "open" });
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      extensions: [
        escape,
        basicSetup,
        yaml(),
        syntaxHighlighting(colors),
        lintGutter(),
        EditorView.contentAttributes.of({ "aria-label": host.title, tabindex: "0" }),
        style,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.every((t) => t.annotation(Transaction.remote))) {
            changed();
          }
        }),
      ],
    }),
  });
}

/** Replaces the text of an editor, unless it is the same. */
export function fill(editor: EditorView, text: string): void {
  if (editor.state.doc.toString() !== text) {
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text }, annotations: Transaction.remote.of(true) });
  }
}

/** Marks the places in a file that findings name. */
export function markFindings(editor: EditorView, file: string, findings: readonly Finding[]): void {
  const doc = editor.state.doc;
  const marks = findings.flatMap((finding) => {
    const text = [`${finding.code} ${finding.message}`, ...finding.claims.map(claimText), finding.help].filter((line) => line !== "").join("\n");
    const severity = finding.severity === "note" ? "info" : finding.severity;
    const others = finding.claims.filter((claim) => claim.line !== finding.line || claim.file !== finding.file);
    return [markAt(doc, file, finding, severity, text), ...others.map((claim) => markAt(doc, file, claim, "info", text))];
  });
  editor.dispatch(setDiagnostics(editor.state, marks.filter((mark) => mark !== undefined)));
}

function claimText(claim: Finding["claims"][number]): string {
  const value = claim.present ? "the item" : JSON.stringify(claim.value);
  return `  ${claim.layer} sets ${value.length > 80 ? value.slice(0, 79) + "\u2026" : value} at ${claim.file}:${claim.line}`;
}

/** Returns the mark from a place to the end of its line, or nothing for another file. */
function markAt(doc: Text, file: string, place: Place, severity: Diagnostic["severity"], message: string): Diagnostic | undefined {
  if (place.file !== file || place.line < 1 || place.line > doc.lines) {
    return undefined;
  }
  const line = doc.line(place.line);
  const text = line.text.trimEnd();
  const before = Array.from(text).slice(0, Math.max(0, place.column - 1)).join(""); // the program counts characters, not UTF-16
  const start = before.length < text.length ? before.length : text.length - text.trimStart().length;
  return { from: line.from + start, to: line.from + text.length, severity, message };
}
