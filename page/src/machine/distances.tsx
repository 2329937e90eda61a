// How far the NUMA nodes lie apart, as the firmware says: 10 is a node's own memory, 20 twice as far.

import type { Machine } from "./machine";

/** More than these stand in the tables alone. */
const MOST_NODES = 8;
/** More than these are folded: who holds what is asked for more often. */
const MOST_OPEN = 2;

export function Distances({ machine }: { machine: Machine }) {
  const nodes = machine.sockets.flatMap((socket) => socket.nodes).filter((node) => node.distances.size > 0);
  if (nodes.length < 2 || nodes.length > MOST_NODES) return null;
  return (
    <details class="free-table distances" open={nodes.length <= MOST_OPEN}>
      <summary title="As the firmware says: 10 is a node's own memory, 20 twice as far">NUMA distances</summary>
      <DistanceTable machine={machine} />
    </details>
  );
}

/** All nodes that tell of distances, those that are a device's own memory among the columns. */
export function DistanceTable({ machine, caption = "" }: { machine: Machine; caption?: string }) {
  const nodes = machine.sockets.flatMap((socket) => socket.nodes).filter((node) => node.distances.size > 0);
  const others = [...new Set(nodes.flatMap((node) => [...node.distances.keys()]))]
    .filter((id) => (machine.memory.get(id) ?? 0) > 0)
    .sort((a, b) => a - b);
  return (
    <table>
      {caption && <caption>{caption}</caption>}
      <thead>
        <tr>
          <th scope="col">NUMA</th>
          {others.map((id) => (
            <th scope="col" key={id}>
              {id}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <tr key={node.id}>
            <th scope="row">{node.id}</th>
            {others.map((id) => (
              <td key={id}>
                <span class={id === node.id ? "free" : ""}>{node.distances.get(id) ?? "–"}</span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
