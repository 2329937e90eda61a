// The page of a whole cluster: all nodes as small machines, who waits, and whose pods were rejected.

import { useEffect, useMemo, useState } from "preact/hooks";
import { bytesText, plural } from "../values/amounts";
import { api } from "../agent/api";
import { caughtUp, found, inOrder, kindText, marksOf, nodeText, ORDERS, type Order, stateText, updated } from "./fleet";
import { Loops, Waiting } from "./fleet_side";
import type { FleetUpdate, FleetView, NodeTile } from "./fleet_types";
import { type Connection, followEvents } from "../agent/live";
import { Name } from "../telling/name";
import { NodePicture } from "./node_picture";
import { ThemeButton } from "../theme_button";

/** Thousands of pictures at once make a browser slow. */
const FIRST = 240;

export function FleetApp() {
  const [fleet, setFleet] = useState<FleetView | null>(null);
  const [connection, setConnection] = useState<Connection>("waiting");
  const [text, setText] = useState("");
  const [order, setOrder] = useState<Order>("fragmentation");
  const [most, setMost] = useState(FIRST);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    document.title = "Fleet · numafit";
    let heard: FleetUpdate[] | null = null;
    const load = async () => {
      const own: FleetUpdate[] = (heard = []);
      try {
        const whole = await api.fleet();
        if (heard === own) setFleet(caughtUp(whole, own));
      } catch {
        // It has not read the cluster yet, or is away again: then the stream brings all of it later.
      }
      if (heard === own) heard = null;
    };
    const doubt = (data: unknown) => setProblem((data as { problem: string }).problem);
    return followEvents(api.fleetEvents, {
      onConnection: setConnection,
      onReturn: () => void load(),
      shared: true,
      on: {
        hello: doubt,
        problem: doubt,
        whole: (data) => ((heard = null), setFleet(data as FleetView)),
        fleet: (data) => {
          heard?.push(data as FleetUpdate);
          setFleet((now) => now && updated(now, data as FleetUpdate));
        },
      },
    });
  }, []);
  const nodes = useMemo(() => (fleet ? inOrder(found(fleet.nodes, text), order) : []), [fleet, text, order]);
  return (
    <div class="page view-fleet">
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}
      >
        Skip to the content
      </a>
      <StrandedPattern />
      <header class="bar">
        <div class="title">
          <h1>Fleet</h1>
          {fleet && <p class="facts">{totalsText(fleet)}</p>}
        </div>
        <span class={`connection ${problem && connection === "open" ? "waiting" : connection}`} role="status">
          {stateText(connection, problem)}
        </span>
        <ThemeButton />
      </header>
      {connection === "lost" && fleet && (
        <p class="notice lost" role="alert">
          The connection to the agent is lost; this is the last that it said. Trying again …
        </p>
      )}
      {problem !== "" && connection !== "lost" && (
        <p class="notice doubtful" role="alert">
          {fleet ? "This is how the cluster stood last: " : "The cluster has not been read: "}
          {problem}
        </p>
      )}
      {!fleet && (
        <main class="blank" id="main" aria-busy={connection !== "lost"}>
          <p>{connection === "lost" ? "The agent does not answer. Trying again …" : "The cluster is being read …"}</p>
        </main>
      )}
      {fleet && (
        <main class="fleet-view" id="main" tabIndex={-1}>
          <section class="fleet-nodes" aria-labelledby="nodes-title">
            <div class="fleet-tools">
              <h2 id="nodes-title">
                Nodes <span class="count">{nodes.length}</span>
              </h2>
              <input
                type="search"
                placeholder="name, policy, pod …"
                aria-label="Search nodes"
                value={text}
                onInput={(event) => (setText(event.currentTarget.value), setMost(FIRST))}
              />
              <label>
                <span class="spoken">Order of the nodes</span>
                <select value={order} onChange={(event) => setOrder(event.currentTarget.value as Order)}>
                  {Object.entries(ORDERS).map(([name, words]) => (
                    <option key={name} value={name}>
                      {words}
                    </option>
                  ))}
                </select>
              </label>
              <Key />
            </div>
            {nodes.length === 0 && <p class="empty">No node is found.</p>}
            <ul class="fleet-tiles">
              {nodes.slice(0, most).map((node) => (
                <Tile key={node.name} node={node} />
              ))}
            </ul>
            {nodes.length > most && (
              <button type="button" class="fleet-more" onClick={() => setMost(most + FIRST)}>
                {`Show ${Math.min(FIRST, nodes.length - most)} more of ${nodes.length}`}
              </button>
            )}
          </section>
          <aside class="side">
            <Waiting pods={fleet.waiting} />
            <Loops loops={fleet.loops} />
          </aside>
        </main>
      )}
    </div>
  );
}

function Tile({ node }: { node: NodeTile }) {
  const marks = marksOf(node);
  return (
    <li>
      <a class={`fleet-tile ${node.known ? "" : "unknown"}`} href={`/nodes/${node.name}/`} title={nodeText(node, bytesText)}>
        <span class="line">
          <Name text={node.name} />
          {marks.map((mark) => (
            <span key={mark} class={`label ${mark.endsWith("split") ? "warn" : ""}`}>
              {mark}
            </span>
          ))}
        </span>
        {node.known ? <NodePicture node={node} /> : <span class="what">{node.trouble}</span>}
        {node.known && (
          <span class="what" aria-hidden="true">
            {[
              node.gpus && node.gpus.total > 0 ? `${node.gpus.free}/${node.gpus.total} GPUs` : "",
              node.cpus ? `${node.cpus.free}/${node.cpus.total} CPUs` : "",
              plural(node.pods, "pod"),
            ]
              .filter(Boolean)
              .join(" · ")}
          </span>
        )}
        <span class="spoken">{nodeText(node, bytesText)}</span>
      </a>
    </li>
  );
}

function Key() {
  return (
    <p class="fleet-key" aria-label="Key">
      <svg viewBox="0 0 12 8" aria-hidden="true">
        <rect class="held" width="12" height="8" />
      </svg>
      held
      <svg viewBox="0 0 12 8" aria-hidden="true">
        <rect class="stranded" width="12" height="8" />
      </svg>
      <span title="Free, and on that NUMA node something else is used up: CPUs, memory or GPUs">stranded</span>
      <svg viewBox="0 0 12 8" aria-hidden="true">
        <rect class="free" width="12" height="8" />
      </svg>
      free
      <span class="rows">bars: CPUs, memory · squares: GPUs</span>
    </p>
  );
}

/** Told apart without colours, too. */
function StrandedPattern() {
  return (
    <svg class="patterns" width="0" height="0" aria-hidden="true">
      <pattern id="stranded" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="stranded-ground" width="4" height="4" />
        <rect class="stranded-line" width="1.6" height="4" />
      </pattern>
    </svg>
  );
}

function totalsText({ totals }: FleetView): string {
  return [
    plural(totals.nodes, "node") + (totals.known < totals.nodes ? `, ${totals.nodes - totals.known} not known` : ""),
    kindText(totals.gpus, "GPUs"),
    kindText(totals.cpus, "CPUs"),
    kindText(totals.memory, "memory", bytesText),
    totals.split > 0 ? plural(totals.split, "split pod") : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
