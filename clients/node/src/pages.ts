/** Lists that come page by page, and answers of one thing. */
import { PromptdError } from "./errors.js";

/** The items of all pages. @internal */
export async function* pages<Page extends { nextPageToken: string }, Item>(
  read: (pageToken: string) => Promise<Page>, items: (page: Page) => Item[],
): AsyncGenerator<Item, void, undefined> {
  for (let token: string | undefined = ""; token !== undefined; ) {
    const page: Page = await read(token);
    yield* items(page);
    token = page.nextPageToken || undefined;
  }
}

/** The field that an answer always has. @internal */
export function present<K extends string, T>(answer: { [key in K]?: T }, key: K): T {
  const value = answer[key];
  if (value === undefined) throw new PromptdError("internal", `the answer has no ${key}`);
  return value;
}
