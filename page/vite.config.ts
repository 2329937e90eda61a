// The build: two scripts, one style sheet and one HTML file under fixed names, so that a rebuild can be compared byte for byte.
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/",
  // The tests read the style sheets as text.
  test: { css: true },
  worker: { rolldownOptions: { output: { entryFileNames: "assets/hub.js" } } },
  build: {
    outDir: "../src/numafit/service/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // The content security policy allows no data: scripts or fonts; small pictures stay files too.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/page.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/page[extname]",
      },
    },
  },
});
