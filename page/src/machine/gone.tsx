// Who is taken to be gone in a question: "what if it were gone?"

import type { Holder } from "../agent/api_types";
import { Name } from "../telling/name";

interface Properties {
  holders: Holder[];
  without: string[];
  onWithout: (without: string[]) => void;
}

/** What is not for the agent, and what goes by itself, cannot be taken away. */
export function canGo(holder: Holder): boolean {
  return holder.kind !== "outside" && !holder.gone;
}

export function Gone({ holders, without, onWithout }: Properties) {
  const name = (id: string) => holders.find((one) => one.id === id || one.name === id)?.name ?? id;
  const others = holders.filter((one) => canGo(one) && !without.includes(one.id) && !without.includes(one.name));
  if (others.length === 0 && without.length === 0) return null;
  return (
    <div class="field gone">
      <label for="gone">As if gone</label>
      <select id="gone" value="" onChange={(event) => onWithout([...without, event.currentTarget.value])}>
        <option value="">{without.length > 0 ? "somebody else …" : "nobody"}</option>
        {others.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </select>
      {without.length > 0 && (
        <ul class="chips" aria-label="Taken to be gone">
          {without.map((id) => (
            <li key={id}>
              <Name text={name(id)} />
              <button
                type="button"
                aria-label={`${name(id)} is there again`}
                onClick={() => onWithout(without.filter((other) => other !== id))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
