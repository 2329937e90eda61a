// What is in use now and in the last minutes, as small lines beside the picture; or why that is not known.

import { bytesText } from "../values/amounts";
import { LineRow } from "./line_row";
import type { Machine } from "./machine";
import { lastOf } from "../values/small_line";
import { busyText, partText, type UseAnswer } from "./use";

/** More than these are told by the picture alone. */
const MOST_NODES = 8;

export function UseLines({ use, machine }: { use: UseAnswer | null; machine: Machine }) {
  if (!use) return null;
  if (!use.known)
    return (
      <section class="use-lines" aria-labelledby="use-title">
        <h2 id="use-title">In use</h2>
        <p class="total">Not known. {use.why}</p>
      </section>
    );
  const minutes = Math.max(1, Math.round((use.times.length * use.seconds) / 60));
  const nodes = use.nodes.filter((node) => node.total > 0 || lastOf(node.cpus) !== null).slice(0, MOST_NODES);
  const name = (id: string) => machine.devices.find((device) => device.id === id)?.label ?? id;
  return (
    <section class="use-lines" aria-labelledby="use-title">
      <h2 id="use-title">
        In use <span class="count">last {minutes} min, whoever claimed it</span>
      </h2>
      <table>
        <tbody>
          {nodes.map((node) => [
            <tr key={node.node}>
              <th scope="rowgroup" colSpan={3}>
                NUMA {node.node}
              </th>
            </tr>,
            <LineRow what="CPUs busy" values={node.cpus} text={busyText} />,
            node.total > 0 && <LineRow what="memory used" values={node.memory} text={bytesText} />,
            node.total > 0 && <LineRow what="page cache" values={node.cached} text={bytesText} />,
            node.total > 0 && <LineRow what="unused" values={node.unused} text={bytesText} />,
            ...Object.entries(node.hugepages).map(([size, { total, used }]) => (
              <LineRow
                key={size}
                what={`${size} huge pages used`}
                values={used}
                text={(bytes) => `${bytesText(bytes)} of ${bytesText(total)}`}
              />
            )),
          ])}
          {use.devices.map((device) => [
            <tr key={device.device}>
              <th scope="rowgroup" colSpan={3}>
                {name(device.device)}
              </th>
            </tr>,
            <LineRow what="busy" values={device.busy} text={partText} />,
            <LineRow what="memory used" values={device.memory} text={bytesText} />,
          ])}
        </tbody>
      </table>
    </section>
  );
}
