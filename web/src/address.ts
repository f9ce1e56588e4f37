// The address of the playground holds its state behind "#", which browsers never send.

/** What the address holds. */
export interface State {
  files: Record<string, string>;
  to: string;
}

/** Returns the text of a state for the address. */
export async function pack(state: State): Promise<string> {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the state of an address, or nothing if the address holds none. */
export async function unpack(text: string): Promise<State | undefined> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const state: unknown = JSON.parse(await new Response(stream).text());
    if (typeof state !== "object" || state === null || !("files" in state) || typeof state.files !== "object" || state.files === null) {
      return undefined;
    }
    const files: Record<string, string> = {};
    for (const [name, value] of Object.entries(state.files)) {
      if (typeof value === "string") {
        files[name] = value;
      }
    }
    return { files, to: "to" in state && typeof state.to === "string" ? state.to : "jobset" };
  } catch {
    return undefined;
  }
}
