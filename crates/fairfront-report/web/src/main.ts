// Builds the report from the data that the command wrote into it.

import { followTheme } from "./canvas.ts";
import { choice } from "./choice.ts";
import { conflicts } from "./conflict.ts";
import { readData } from "./data.ts";
import { detail } from "./detail.ts";
import { h, shorten } from "./dom.ts";
import { looks } from "./look.ts";
import { models } from "./models.ts";
import { mainPlot, otherViews } from "./plot.ts";
import { provenance } from "./provenance.ts";
import { Requirements } from "./requirement.ts";
import { Store } from "./store.ts";
import { summary } from "./summary.ts";

function start(page: HTMLElement, text: string): void {
  const data = readData(text);
  const store = new Store(data);
  document.title = `${shorten(data.run.source, 60)}: ${data.front.length} models – fairfront`;
  const decide = h(
    "section",
    { class: "decide", "aria-label": "Choose a model" },
    mainPlot(store),
    choice(store),
    new Requirements(store).element,
  );
  const sections = [
    decide,
    otherViews(store),
    conflicts(store),
    detail(store),
    looks(store),
    models(store),
    provenance(store),
  ];
  page.append(summary(store), h("main", {}, ...sections));
  followTheme();
  document.documentElement.dataset.ready = performance.now().toFixed(0);
}

const page = document.getElementById("page");
const data = document.getElementById("data");
if (page && data) {
  try {
    start(page, data.textContent ?? "");
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    page.append(h("p", { class: "problem", role: "alert" }, `fairfront cannot show this report: ${shorten(problem, 300)}`));
    throw error;
  }
}
