// Who waits and why, and whose pods kubelets have rejected.

import { agoText, plural } from "../values/amounts";
import type { Loop, WaitingPod } from "./fleet_types";
import { Name } from "../telling/name";

const MOST = 100;
const TELLERS = { placer: "placer", guard: "held", scheduler: "scheduler", "": "" };

export function Waiting({ pods }: { pods: WaitingPod[] }) {
  return (
    <section class="fleet-list" aria-labelledby="waiting-title">
      <h2 id="waiting-title">
        Waiting <span class="count">{pods.length}</span>
      </h2>
      {pods.length === 0 && <p class="empty">No pod waits for a node.</p>}
      <ol>
        {pods.slice(0, MOST).map((pod) => (
          <li key={pod.pod}>
            <p class="line">
              <Name text={pod.pod} />
              {pod.priority !== 0 && <span class="label">{`priority ${pod.priority}`}</span>}
              {TELLERS[pod.teller] && <span class="label">{TELLERS[pod.teller]}</span>}
              <span class="when" title={`since ${pod.since}`}>
                {agoText(pod.since, Date.now())}
              </span>
            </p>
            <p class="what">{pod.sentence || "Nobody has said yet why."}</p>
          </li>
        ))}
      </ol>
      {pods.length > MOST && <p class="empty">{`and ${pods.length - MOST} more, of lower priority or younger`}</p>}
    </section>
  );
}

export function Loops({ loops }: { loops: Loop[] }) {
  return (
    <section class="fleet-list" aria-labelledby="loops-title">
      <h2 id="loops-title">
        Owners of rejected pods <span class="count">{loops.length}</span>
      </h2>
      {loops.length === 0 && <p class="empty">No owner has pods that a kubelet rejected and that are still there.</p>}
      <ol>
        {loops.slice(0, MOST).map((loop) => (
          <li key={loop.owner}>
            <p class="line">
              <Name text={loop.owner} />
              <span class="label bad-label">{plural(loop.rejected, "rejected pod")}</span>
              {loop.held.length > 0 && <span class="label">{plural(loop.held.length, "pod")} held</span>}
              <span class="when" title={`the last one was made ${loop.last}`}>
                {agoText(loop.last, Date.now())}
              </span>
            </p>
            <p class="what">
              {loop.reason}
              {loop.nodes.length > 0 && ` on ${loop.nodes.join(", ")}`}
              {loop.message && `: ${loop.message}`}
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}
