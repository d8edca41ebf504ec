// The inspector in a real browser, and everything that it must not do there.
import assert from "node:assert/strict";

import puppeteer from "puppeteer-core";

const FLAGS = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update"];
const WAIT_MS = 20_000;

// One browser for a file of tests. Where none is installed the tests do not run, and say so.
export const skip = process.env.PROMPTD_BROWSER ? false : "NO BROWSER";
export const launch = () =>
  puppeteer.launch({ executablePath: process.env.PROMPTD_BROWSER, headless: true, args: FLAGS });

// Opens an address in a profile of its own. What the page says to the console, throws, asks of the network or reports
// against its policy is kept; `close` holds it to the rules.
export async function open(browser, address, { width = 1280, height = 900, scheme = "light", storage = {} } = {}) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const seen = { requests: [], errors: [], answers: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of (4|5)\d\d/.test(message.text())) seen.errors.push(message.text());
  });
  await page.evaluateOnNewDocument((storage) => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`));
    for (const [key, value] of Object.entries(storage)) localStorage.setItem(key, value);
  }, storage);
  await page.goto(address);
  return Object.assign(page, {
    seen,
    done: async () => {
      await context.close();
      assert.deepEqual(seen.errors, []);
      const { origin } = new URL(address);
      const foreign = seen.requests.filter((url) => new URL(url).origin !== origin && !url.startsWith("data:"));
      assert.deepEqual(foreign, []);
    },
  });
}

// Waits until `found`, run in the page, gives something true, and gives that.
export const until = async (page, found, ...values) => (await page.waitForFunction(found, {}, ...values)).jsonValue();

// The middle of the first place where a section shows a word, scrolled into view.
export const placeOf = (page, section, word) =>
  page.evaluate(
    async (section, word) => {
      const root = document.querySelector(`[data-section="${section}"]`);
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const start = node.textContent.indexOf(word);
        if (start < 0) continue;
        const range = document.createRange();
        range.setStart(node, start);
        range.setEnd(node, start + word.length);
        node.parentElement.scrollIntoView({ block: "center", behavior: "instant" });
        await frame().then(frame); // what comes into view is laid out only then
        const box = range.getBoundingClientRect();
        return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
      }
    },
    section,
    word,
  );
