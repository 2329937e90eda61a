import { expect, test } from "vitest";
import { grouped } from "../src/telling/notes";

const note = (about: string, text: string) => ({ code: "cores-matter", about, text });

test("the same note about many is said once", () => {
  const notes = [..."abcde"].map((name) => note(`default/${name}`, "may get other CPUs"));
  expect(grouped([...notes, note("machine", "no source tells the cores")])).toEqual([
    { names: "default/a, default/b, default/c and 2 more", text: "may get other CPUs" },
    { names: "machine", text: "no source tells the cores" },
  ]);
});
