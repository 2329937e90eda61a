// What to change: the engine's proposals for one pod, the least disturbing first, each with its patch.

import type { Advice } from "./api_types";

export function AdviceList({ advice, pod }: { advice: Advice; pod: string }) {
  const own = advice.advice.find((one) => one.pod === pod);
  if (!own || (!own.fault && own.proposals.length === 0)) return null;
  return (
    <section class="advice">
      <h3>What would help</h3>
      {own.fault && !own.fault.startsWith("rejected") && <p class="note">{own.fault}</p>}
      {own.proposals.length === 0 && (
        <p class="empty">No single change makes this pod fit: it needs another machine, or less of everything.</p>
      )}
      <ol>
        {own.proposals.map((proposal, number) => (
          <li key={number}>
            <span class="proposal">{proposal.text}</span>
            {!proposal.aligned && <span class="label">admitted, not aligned</span>}
            {proposal.removes.length > 0 && <span class="label">removes {proposal.removes.join(", ")}</span>}
            {proposal.rejects.length > 0 && <span class="label warn">rejects {proposal.rejects.join(", ")}</span>}
            {proposal.patch !== undefined && proposal.patch !== null && (
              <details>
                <summary>patch</summary>
                <pre>{JSON.stringify(proposal.patch, null, 2)}</pre>
              </details>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
