// Advice that was applied to the question, and the way back.

import { api } from "../agent/api";
import type { Proposal, WhatIfAnswer } from "../agent/api_types";
import { SIDE, type WhatIfPlace } from "../values/place";

export interface Applied {
  /** What was changed, as before -> after. */
  text: string;
  before: WhatIfPlace;
  after: WhatIfPlace;
}

/** All of a question that a proposal changes. */
function part({ pods, kubelet, left, without }: WhatIfPlace): Partial<WhatIfPlace> {
  return { pods, kubelet, left, without };
}

/** Whether the question still says what was applied: otherwise the way back would lead to another question. */
export function stands({ after }: Applied, place: WhatIfPlace): boolean {
  return JSON.stringify(part(after)) === JSON.stringify(part(place));
}

/** Without it, and with all that a proposal does not change. */
export function undone({ before }: Applied, place: WhatIfPlace): WhatIfPlace {
  return { ...place, ...part(before) };
}

/** The proposal was made for `before`; null where the question says something else by now. */
export function written(before: WhatIfPlace, after: WhatIfPlace, now: WhatIfPlace): WhatIfPlace | null {
  return JSON.stringify(part(before)) === JSON.stringify(part(now)) ? { ...now, ...part(after) } : null;
}

/** Whether the page can put it into the question: a pod that is split, or comes later, is for its owner to write. */
export function canApply({ patches, removes }: Proposal, answer: Pick<WhatIfAnswer, "ledger">): boolean {
  if (patches) return true;
  const there = answer.ledger.holders.filter((holder) => !holder.new).map((holder) => holder.name);
  return removes.length > 0 && removes.every((name) => there.includes(name));
}

/** The question with the proposal in it; `kubelet` is the configuration that was asked, with all choices laid over. */
export async function applied(place: WhatIfPlace, pod: string, proposal: Proposal, kubelet: string): Promise<WhatIfPlace> {
  if (proposal.patches === "manifest") {
    const { pods } = await api.apply({ patch: proposal.patch, pods: place.pods, pod });
    return { ...place, pods: pods ?? place.pods };
  }
  if (proposal.patches === "kubelet") {
    const answer = await api.apply({ patch: proposal.patch, kubelet });
    // The choices stand in the configuration now, and would be laid over what the proposal changes.
    return { ...place, kubelet: answer.kubelet ?? kubelet, left: { ...SIDE, version: place.left.version } };
  }
  return { ...place, without: [...new Set([...place.without, ...proposal.removes])] };
}

/** The proposal for those who change the cluster: YAML of the patch, and a command. */
export async function copies(place: WhatIfPlace, pod: string, proposal: Proposal, kubelet: string) {
  if (proposal.patches === "manifest") return api.apply({ patch: proposal.patch, pods: place.pods, pod });
  if (proposal.patches === "kubelet") return api.apply({ patch: proposal.patch, kubelet });
  const commands = proposal.removes.map((name) => {
    const [namespace, own] = name.split("/", 2);
    return `kubectl delete pod ${own} --namespace ${namespace}`;
  });
  return { yaml: "", kubectl: commands.join("\n") };
}
