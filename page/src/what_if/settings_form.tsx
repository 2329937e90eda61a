// The choices of one kubelet: release, policies, scope and options, each "as configured" until chosen.

import type { SettingsAnswer, SettingsChoice } from "../agent/api_types";
import type { Side } from "../values/place";

interface Properties {
  id: string;
  title: string;
  settings: SettingsAnswer;
  side: Side;
  onSide: (side: Side) => void;
}

type Plain = "policy" | "scope" | "cpuManagerPolicy" | "memoryManagerPolicy";

export function SettingsForm({ id, title, settings, side, onSide }: Properties) {
  const choose = (name: Plain, value: string) => {
    const { [name]: _, ...rest } = side.settings;
    onSide({ ...side, settings: value ? { ...rest, [name]: value } : rest });
  };
  const rows: [Plain, string, string[]][] = [
    ["policy", "Topology policy", settings.policies],
    ["scope", "Scope", settings.scopes],
    ["cpuManagerPolicy", "CPU manager", ["none", "static"]],
    ["memoryManagerPolicy", "Memory manager", ["None", "Static"]],
  ];
  return (
    <fieldset class="settings">
      <legend>{title}</legend>
      <Choice
        id={`${id}-version`}
        label="Release"
        value={side.version}
        values={settings.versions}
        configured={settings.version}
        onValue={(version) => onSide({ ...side, version })}
      />
      {rows.map(([name, label, values]) => (
        <Choice
          key={name}
          id={`${id}-${name}`}
          label={label}
          value={side.settings[name] ?? ""}
          values={values}
          configured={settings[name]}
          onValue={(value) => choose(name, value)}
        />
      ))}
      <Options id={id} settings={settings} side={side} onSide={onSide} />
    </fieldset>
  );
}

function Choice({
  id,
  label,
  value,
  values,
  configured,
  onValue,
}: {
  id: string;
  label: string;
  value: string;
  values: string[];
  configured: string;
  onValue: (value: string) => void;
}) {
  return (
    <div class="field line">
      <label for={id}>{label}</label>
      <select
        id={id}
        class={value ? "chosen" : ""}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        <option value="">{configured} (as set)</option>
        {values.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </div>
  );
}

const NUMBERS = new Set(["max-allowable-numa-nodes"]);

function Options({ id, settings, side, onSide }: Omit<Properties, "title">) {
  const fields = { cpu: "cpuOptions", topology: "topologyOptions" } as const;
  const value = (manager: "cpu" | "topology", name: string) =>
    side.settings[fields[manager]]?.[name] ?? settings[fields[manager]][name] ?? "";
  const set = (manager: "cpu" | "topology", name: string, next: string) => {
    const field = fields[manager];
    const { [name]: _, ...others } = side.settings[field] ?? {};
    // Back to what is configured is no choice.
    const chosen =
      next === (settings[field][name] ?? (NUMBERS.has(name) ? "" : "false")) ? others : { ...others, [name]: next };
    const { [field]: __, ...rest } = side.settings;
    onSide({
      ...side,
      settings: (Object.keys(chosen).length > 0 ? { ...rest, [field]: chosen } : rest) as SettingsChoice,
    });
  };
  const on = settings.options.filter(
    (option) =>
      value(option.manager, option.name) === "true" || (NUMBERS.has(option.name) && value(option.manager, option.name)),
  ).length;
  return (
    <details class="options" open={on > 0}>
      <summary>Policy options{on > 0 ? ` (${on})` : ""}</summary>
      {settings.options.map((option) =>
        NUMBERS.has(option.name) ? (
          <label class="check" key={option.name}>
            <input
              type="number"
              min="1"
              max="1024"
              id={`${id}-${option.name}`}
              value={value(option.manager, option.name)}
              onChange={(event) => set(option.manager, option.name, event.currentTarget.value)}
            />{" "}
            {option.name}
          </label>
        ) : (
          <label class="check" key={option.name} title={`since ${option.since}`}>
            <input
              type="checkbox"
              id={`${id}-${option.name}`}
              checked={value(option.manager, option.name) === "true"}
              onChange={(event) => set(option.manager, option.name, String(event.currentTarget.checked))}
            />{" "}
            {option.name}
          </label>
        ),
      )}
    </details>
  );
}
