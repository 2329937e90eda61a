// The pod as a form: steppers for what it asks for. Form and YAML are two views of one pod.

import { useState } from "preact/hooks";
import { resourceText } from "../machine/occupancy";
import { FIRST, isHuge, type Named, type Part, type Qos, type Shape } from "./shape";

interface Properties {
  /** Null where the YAML says more than a form can show, or cannot be read. */
  shape: Shape | null;
  /** The YAML has comments, which a form would lose. */
  comments: boolean;
  /** There is no YAML yet. */
  blank: boolean;
  /** The device resources of the machine that is asked. */
  resources: string[];
  onShape: (shape: Shape) => void;
}

const QOS: Qos[] = ["Guaranteed", "Burstable", "BestEffort"];
const SMALL: Part = { cpu: 500, memory: 256 };

export function PodForm({ shape, comments, blank, resources, onShape }: Properties) {
  if (!shape && !blank)
    return (
      <p class="note pod-form">
        {comments
          ? "This manifest has comments, which the form would not keep: change it below."
          : "The form cannot show all of this manifest: change it below."}{" "}
        <button type="button" onClick={() => onShape(FIRST)}>
          Start anew in the form
        </button>
      </p>
    );
  const own = shape ?? FIRST;
  const change = (part: Partial<Shape>) => onShape({ ...own, ...part });
  const devices = [...new Set([...resources, ...Object.keys(own.devices).filter((one) => !isHuge(one))])].sort();
  const device = (resource: string, count: number) => change({ devices: { ...own.devices, [resource]: count } });
  const none = own.qos === "BestEffort";
  return (
    <div class="pod-form" role="group" aria-label="The pod as a form">
      {!none && <PartSteppers part={own} onPart={change} />}
      {devices.map((resource) => (
        <Stepper
          key={resource}
          label={resourceText(resource)}
          title={resource}
          value={own.devices[resource] ?? 0}
          onValue={(count) => device(resource, count)}
        />
      ))}
      <label class="stepper-row">
        <span>QoS</span>
        <select value={own.qos} onChange={(event) => change({ qos: event.currentTarget.value as Qos })}>
          {QOS.map((qos) => (
            <option key={qos}>{qos}</option>
          ))}
        </select>
      </label>
      <Stepper label="replicas" value={own.replicas} least={1} onValue={(replicas) => change({ replicas })} />
      <details open={Boolean(own.init || own.sidecar) || Object.keys(own.devices).some(isHuge)}>
        <summary>Huge pages, init container, sidecar</summary>
        {["hugepages-2Mi", "hugepages-1Gi"].map((resource) => (
          <Stepper
            key={resource}
            label={`${resource.replace("hugepages-", "huge pages of ")}, MiB`}
            value={own.devices[resource] ?? 0}
            step={resource.endsWith("1Gi") ? 1024 : 64}
            onValue={(amount) => device(resource, amount)}
          />
        ))}
        <Beside
          title="init container"
          first={besides("init", own)}
          part={own.init}
          onPart={(init) => change({ init })}
        />
        <Beside
          title="sidecar"
          first={besides("sidecar", own)}
          part={own.sidecar}
          onPart={(sidecar) => change({ sidecar })}
        />
      </details>
      {blank && (
        <button type="button" onClick={() => onShape(own)}>
          Ask with this pod
        </button>
      )}
    </div>
  );
}

/** A container that is new: another name than that of the main one. */
function besides(name: string, { main }: Shape): Part & Named {
  return { ...SMALL, name: main.name === name ? `${name}-2` : name, image: FIRST.main.image };
}

function PartSteppers({ part, of = "", onPart }: { part: Part; of?: string; onPart: (part: Part) => void }) {
  const { cpu, memory } = part;
  return (
    <>
      <Stepper
        label={`CPUs${of}`}
        value={cpu / 1000}
        least={0.001}
        digits={3}
        onValue={(value) => onPart({ cpu: Math.round(value * 1000), memory })}
      />
      <Stepper
        label={`memory${of}, GiB`}
        value={memory / 1024}
        least={1 / 1024}
        digits={3}
        onValue={(value) => onPart({ cpu, memory: Math.max(1, Math.round(value * 1024)) })}
      />
    </>
  );
}

/** A container beside the main one, or none. */
function Beside<T extends Part>({
  title,
  first,
  part,
  onPart,
}: {
  title: string;
  first: T;
  part: T | null;
  onPart: (part: T | null) => void;
}) {
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={part !== null}
          onChange={(event) => onPart(event.currentTarget.checked ? first : null)}
        />{" "}
        {title}
      </label>
      {part && <PartSteppers part={part} of={` of the ${title}`} onPart={(amounts) => onPart({ ...part, ...amounts })} />}
    </>
  );
}

interface StepperProperties {
  label: string;
  title?: string;
  value: number;
  least?: number;
  step?: number;
  digits?: number;
  onValue: (value: number) => void;
}

/** Below one step it goes by halves: half a CPU can be asked for. */
export function stepped(value: number, by: number, least: number): number {
  const size = Math.abs(by);
  if (by > 0) return value < size && least < size && least > 0 ? Math.min(size, value * 2) : value + size;
  if (value > size) return value - size;
  return least > 0 && least < size ? Math.max(least, value / 2) : Math.max(least, value - size);
}

function Stepper({ label, title = "", value, least = 0, step = 1, digits = 0, onValue }: StepperProperties) {
  const shown = Number(value.toFixed(digits));
  /** What is being typed: the page is drawn anew whenever the ledger changes, and must leave it alone. */
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <div class="stepper-row" title={title}>
      <span aria-hidden="true">{label}</span>
      <span class="steps">
        <button type="button" aria-label={`Less: ${label}`} disabled={value <= least} onClick={() => onValue(stepped(value, -step, least))}>
          −
        </button>
        <input
          type="number"
          aria-label={label}
          min={least}
          max={999999}
          step="any"
          value={draft ?? shown}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onBlur={() => setDraft(null)}
          onChange={(event) => {
            const typed = Number(event.currentTarget.value);
            if (event.currentTarget.value && typed >= least && typed <= 999999)
              onValue(digits > 0 ? typed : Math.round(typed));
            setDraft(null);
          }}
        />
        <button type="button" aria-label={`More: ${label}`} onClick={() => onValue(stepped(value, step, least))}>
          +
        </button>
      </span>
    </div>
  );
}
