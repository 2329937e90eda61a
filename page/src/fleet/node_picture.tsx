// A node as a small machine: its NUMA nodes side by side, each with bars for CPUs and memory and a square for each GPU.

import type { Kind, NodeTile, NumaTile } from "./fleet_types";

const WIDTH = 92;
const HEIGHT = 44;
const GAP = 6;
const BAR = WIDTH - 12;
const SQUARE = 7;
const MOST_SQUARES = 8;
const MOST_BESIDE = 4;

/** GPUs with memory of their own make nodes without CPUs: those say nothing here. */
function shown(node: NodeTile): NumaTile[] {
  const withCpus = node.numa.filter((own) => own.cpus.total > 0 || own.gpus.total > 0);
  return withCpus.length > 0 ? withCpus : node.numa;
}

export function NodePicture({ node }: { node: NodeTile }) {
  const nodes = shown(node);
  const beside = Math.min(nodes.length, nodes.length === 2 ? 2 : MOST_BESIDE);
  const rows = Math.ceil(nodes.length / beside);
  const width = beside * (WIDTH + GAP) - GAP;
  const height = rows * (HEIGHT + GAP) - GAP;
  return (
    <svg class="node-picture" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {nodes.map((own, index) => (
        <g
          key={own.id}
          transform={`translate(${(index % beside) * (WIDTH + GAP)} ${Math.floor(index / beside) * (HEIGHT + GAP)})`}
        >
          <rect class="ground" width={WIDTH} height={HEIGHT} rx="4" />
          <Bar kind={own.cpus} top={6} />
          <Bar kind={own.memory} top={17} />
          <Squares kind={own.gpus} top={29} />
        </g>
      ))}
    </svg>
  );
}

/** Held, then free and stranded, then free. */
function Bar({ kind, top }: { kind: Kind; top: number }) {
  if (kind.total === 0) return null;
  const held = (BAR * (kind.total - kind.free)) / kind.total;
  const stranded = (BAR * kind.stranded) / kind.total;
  return (
    <g transform={`translate(6 ${top})`}>
      <rect class="free" width={BAR} height="7" rx="1.5" />
      <rect class="held" width={held} height="7" rx="1.5" />
      {stranded > 0 && <rect class="stranded" x={held} width={stranded} height="7" />}
    </g>
  );
}

function Squares({ kind, top }: { kind: Kind; top: number }) {
  if (kind.total === 0) return null;
  if (kind.total > MOST_SQUARES) {
    return <Bar kind={kind} top={top} />;
  }
  const held = kind.total - kind.free;
  return (
    <g transform={`translate(6 ${top})`}>
      {Array.from({ length: kind.total }, (_, index) => (
        <rect
          key={index}
          class={index < held ? "held gpu" : index < held + kind.stranded ? "stranded gpu" : "free gpu"}
          x={index * (SQUARE + 3)}
          width={SQUARE}
          height={SQUARE}
          rx="1.5"
        />
      ))}
    </g>
  );
}
