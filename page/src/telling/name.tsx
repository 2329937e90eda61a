// A name in one line: where the room ends, its middle gives way, for its beginning and its end tell it apart.

import { endsOf } from "../values/names";

/** Whole where one points at it, and for those who hear the page. */
export function Name({ text }: { text: string }) {
  const [begin, end] = endsOf(text);
  if (!end) return <span class="name">{text}</span>;
  return (
    <span class="name long" title={text}>
      <span class="spoken">{text}</span>
      <span class="ends" aria-hidden="true">
        <span class="begin">{begin}</span>
        <span>{end}</span>
      </span>
    </span>
  );
}
