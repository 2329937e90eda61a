// A kubelet's log pasted as text, for those who have it in a terminal and not in a file.

import { useState } from "preact/hooks";

export function PasteLog({ onFile }: { onFile: (file: File) => void }) {
  const [text, setText] = useState<string | null>(null);
  if (text === null)
    return (
      <button type="button" onClick={() => setText("")}>
        Paste a log …
      </button>
    );
  return (
    <div class="paste-log">
      <textarea
        aria-label="Kubelet log as text"
        rows={6}
        spellcheck={false}
        placeholder="Paste lines of a kubelet's log"
        ref={(element) => void (element && text === "" && element.focus())}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button
        type="button"
        disabled={text.trim() === ""}
        onClick={() => onFile(new File([text], "pasted log", { type: "text/plain" }))}
      >
        Read it
      </button>
      <button type="button" onClick={() => setText(null)}>
        Cancel
      </button>
    </div>
  );
}
