// One browser and one server for all tests of a file.
import { after, before } from "node:test";

import { launch, skip } from "./page.mjs";
import { serve } from "./service.mjs";

// Both are there once the file's tests run; `settings` are those of `serve`, and `prepare` is called with the service.
export function running(settings, prepare = async () => {}) {
  const fixture = {};
  before(async () => {
    if (skip) return;
    fixture.browser = await launch();
    fixture.service = await serve(settings);
    await prepare(fixture.service);
  });
  after(async () => {
    await fixture.browser?.close();
    await fixture.service?.stop();
  });
  return fixture;
}
