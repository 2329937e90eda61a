// What the jobs of this host did in the last hour, as small lines: CPUs, context switches, memory on each NUMA node,
// and for each NUMA node the allocations that were remote or missed it.

import { useEffect, useState } from "preact/hooks";
import { bytesText } from "../values/amounts";
import { api } from "../agent/api";
import type { PastAnswer } from "../agent/api_types";
import { LineRow } from "./line_row";
import { Name } from "../telling/name";

/** Asked anew with each revision of the ledger, and after a gap; an agent that knows nothing of the past shows nothing of it. */
export function Past({ revision, returns }: { revision: number; returns: number }) {
  const [past, setPast] = useState<PastAnswer | null>(null);
  useEffect(() => {
    // What does not answer now is asked again with the next revision.
    api.past().then(setPast, () => undefined);
  }, [revision, returns]);
  if (!past || past.times.length < 2 || past.jobs.length === 0) return null;
  return (
    <section class="past" aria-labelledby="past-title">
      <h2 id="past-title">Last hour</h2>
      <table>
        <tbody>
          {past.jobs.map((job) => [
            <tr key={job.name}>
              <th scope="rowgroup" colSpan={3}>
                <Name text={job.name} />
              </th>
            </tr>,
            <LineRow what="CPUs used" values={job.cpus} text={countText} />,
            <LineRow what="threads without a CPU" values={job.waiting} text={countText} />,
            <LineRow what="context switches / s" values={job.switches} text={countText} />,
            <LineRow what="forced ones / s" values={job.forced} text={countText} />,
            ...Object.entries(job.memory).map(([node, values]) => (
              <LineRow key={node} what={`memory on NUMA ${node}`} values={values} text={bytesText} />
            )),
          ])}
          {past.nodes.length > 1 &&
            past.nodes.map((node) => [
              <tr key={node.node}>
                <th scope="rowgroup" colSpan={3}>
                  NUMA {node.node}
                </th>
              </tr>,
              <LineRow what="remote allocations / s" values={node.remote} text={countText} />,
              <LineRow what="missed allocations / s" values={node.missed} text={countText} />,
            ])}
        </tbody>
      </table>
    </section>
  );
}

export function countText(value: number): string {
  return value >= 100 || Number.isInteger(value) ? Math.round(value).toString() : value.toFixed(value >= 10 ? 1 : 2);
}
