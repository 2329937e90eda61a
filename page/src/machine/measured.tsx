// What `numafit measure` found between the NUMA nodes of this host, as two small tables; its own memory is bold.

import type { MeasuredAnswer, MeasuredFigure } from "../agent/api_types";

export function Measured({ measured }: { measured: MeasuredAnswer }) {
  return (
    <section class="free-table measured" aria-labelledby="measured-title">
      <h2 id="measured-title" title={`${measured.at}. ${measured.notes.join(". ")}`}>
        Measured
      </h2>
      <Matrix measured={measured} title="read, GB/s" of="bytesPerSecond" unit={1e9} />
      <Matrix measured={measured} title="load, ns" of="nanoseconds" unit={1} />
      {!measured.comparable && <p class="total">One NUMA node with memory: there is nothing to compare.</p>}
    </section>
  );
}

interface Asked {
  measured: MeasuredAnswer;
  title: string;
  of: "bytesPerSecond" | "nanoseconds";
  unit: number;
}

function Matrix({ measured, title, of, unit }: Asked) {
  const callers = measured.nodes.filter((node) => node.cpus).map((node) => node.id);
  const memories = measured.nodes.filter((node) => node.bytes).map((node) => node.id);
  const found = (node: number, memory: number) =>
    measured.pairs.find((pair) => pair.node === node && pair.memory === memory)?.[of] ?? null;
  if (!measured.pairs.some((pair) => pair[of])) return null;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{title}</th>
          {memories.map((memory) => (
            <th scope="col" key={memory}>
              memory {memory}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {callers.map((node) => (
          <tr key={node}>
            <th scope="row">CPUs of {node}</th>
            {memories.map((memory) => (
              <Cell key={memory} figure={found(node, memory)} unit={unit} own={node === memory} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell({ figure, unit, own }: { figure: MeasuredFigure | null; unit: number; own: boolean }) {
  if (!figure) return <td class="none">–</td>;
  const range = `${figureText(figure.low / unit)} to ${figureText(figure.high / unit)} in ${figure.rounds} rounds`;
  return (
    <td title={range}>
      <span class={own ? "free" : ""}>{figureText(figure.middle / unit)}</span>
    </td>
  );
}

/** About three digits, as on the terminal. */
export function figureText(value: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
