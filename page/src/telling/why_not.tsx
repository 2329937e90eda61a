// "Why not here?": what the merge says of one NUMA node, as the engine tells it.

import { useEffect, useState } from "preact/hooks";
import { bytesOfText, bytesText } from "../values/amounts";
import { api, Refusal } from "../agent/api";
import type { HereRow, WhyNotAnswer } from "../agent/ask_types";
import type { WhatIfBody } from "../agent/api_types";
import { isBytes } from "../drawing/ghost";
import type { Machine } from "../machine/machine";
import { resourceText } from "../machine/occupancy";
import { plain } from "./telling";

interface MenuProperties {
  machine: Machine;
  /** Names what is asked about, for those who hear the page. */
  of: string;
  value: number | null;
  onNode: (node: number | null) => void;
}

/** The way without a mouse, and on a phone. */
export function WhyNotMenu({ machine, of, value, onNode }: MenuProperties) {
  const nodes = machine.sockets.flatMap((socket) => socket.nodes.map((node) => node.id)).sort((a, b) => a - b);
  return (
    <select
      class="why-menu"
      aria-label={`Why is ${of} not on that NUMA node?`}
      value={value ?? ""}
      onChange={(event) => onNode(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}
    >
      <option value="">Why not on NUMA …</option>
      {nodes.map((node) => (
        <option key={node} value={node}>
          Why not on NUMA {node}?
        </option>
      ))}
    </select>
  );
}

interface Properties {
  body: WhatIfBody;
  /** The pod that is told, as namespace/name. */
  pod: string;
  node: number;
  /** Of the ledger: a new one means a new answer. */
  revision: number;
  returns: number;
  onClose: () => void;
}

export function WhyNot({ body, pod, node, revision, returns, onClose }: Properties) {
  const [answer, setAnswer] = useState<WhyNotAnswer | null>(null);
  const [trouble, setTrouble] = useState("");
  const key = JSON.stringify([body, pod, node]);
  useEffect(() => {
    const stop = new AbortController();
    api.whyNot({ ...body, numa: node, pod }, stop.signal).then(
      (found) => (setAnswer(found), setTrouble("")),
      (failure) =>
        stop.signal.aborted ||
        setTrouble(failure instanceof Refusal ? failure.message : "The answer could not be read: reload the page."),
    );
    return () => stop.abort();
  }, [key, revision, returns]);
  const told = answer?.pods.find((one) => one.pod === pod && one.numa === node);
  return (
    <section class="why-not" aria-label={`Why not on NUMA ${node}?`} aria-live="polite">
      <h3>
        Why not on NUMA {node}?{" "}
        <button type="button" class="quiet" onClick={onClose}>
          Close
        </button>
      </h3>
      {trouble && (
        <p class="notice trouble" role="alert">
          {trouble}
        </p>
      )}
      {told && !trouble && (
        <>
          {told.merges.map((merge, number) => (
            <div key={number}>
              {merge.container && <h4>Container {merge.container}</h4>}
              <p class="sentence">{plain(merge.sentence)}</p>
              <HereTable rows={merge.resources} node={node} />
            </div>
          ))}
          {/* Of a refused pod the verdict above says the same. */}
          {told.admitted && <p class="note">{plain(told.sentence)}</p>}
          {!told.admitted && told.merges.length === 0 && <p class="sentence">{plain(told.sentence)}</p>}
        </>
      )}
    </section>
  );
}

function HereTable({ rows, node }: { rows: HereRow[]; node: number }) {
  if (rows.length === 0) return null;
  return (
    <div class="scroll">
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">resource</th>
            <th scope="col">needed</th>
            <th scope="col">free on NUMA {node}</th>
            <th scope="col">this node alone</th>
            <th scope="col">held there by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.resource}>
              <th scope="row">{row.resource === "cpu" ? "CPUs" : resourceText(row.resource)}</th>
              <td>{amount(row.resource, row.needed)}</td>
              <td>{ofText(row)}</td>
              <td class={row.offered ? "fits" : "short"}>
                {row.offered ? (row.preferred ? "✓ preferred" : "✓ possible, not preferred") : "✕ not offered"}
              </td>
              <td class="who">
                {Object.entries(row.held)
                  .map(([who, much]) => `${who} ${amount(row.resource, much)}`)
                  .join(", ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ofText({ resource, free, allocatable }: HereRow): string {
  const [part, whole] = isBytes(resource) ? bytesOfText(free, allocatable) : [free, allocatable];
  return `${part} of ${whole}`;
}

function amount(resource: string, value: number): string {
  return isBytes(resource) ? bytesText(value) : String(value);
}
