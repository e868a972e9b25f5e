// One way to ask the service: JSON, or events while a long answer is made. Every fault is a Problem.
import { search, type Query } from "./route";
import { ask, headers } from "./token";

const BASE = "api/v1/";

export class Problem extends Error {
  constructor(
    readonly status: number, // 0: no answer at all
    detail: string,
  ) {
    super(detail);
  }
}

export interface Progress {
  step: string;
  done: number;
  of: number;
}

export async function get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  const response = await send(path, query, "application/json", signal);
  return (await response.json()) as T;
}

// The same answer, with the steps on the way told to `progress`.
export async function long<T>(path: string, query: Query, progress: (at: Progress) => void, signal?: AbortSignal): Promise<T> {
  const response = await send(path, query, "text/event-stream, application/json;q=0.5", signal);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return (await response.json()) as T;
  for await (const { event, data } of events(response)) {
    if (event === "progress") progress(JSON.parse(data) as Progress);
    else if (event === "result") return JSON.parse(data) as T;
    else if (event === "problem") throw problemOf(JSON.parse(data) as Body, 500);
  }
  throw new Problem(0, "the answer broke off before its end");
}

export async function* events(response: Response): AsyncGenerator<{ event: string; data: string }> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value.replaceAll("\r\n", "\n");
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        yield eventOf(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function eventOf(block: string): { event: string; data: string } {
  const found = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) found.event = line.slice(6).trim();
    else if (line.startsWith("data:")) found.data += (found.data ? "\n" : "") + line.slice(5).replace(/^ /, "");
  }
  return found;
}

export async function send(path: string, query?: Query, accept = "application/json", signal?: AbortSignal): Promise<Response> {
  const text = search(query ?? {});
  const address = `${BASE}${path}${text.size ? `?${text}` : ""}`;
  for (;;) {
    const response = await fetched(address, accept, signal);
    if (response.ok) return response;
    if (response.status === 401 && (await ask())) continue;
    throw problemOf(await bodyOf(response), response.status);
  }
}

async function fetched(address: string, accept: string, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(address, { headers: { Accept: accept, ...headers() }, ...(signal ? { signal } : {}) });
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === "AbortError") throw fault;
    throw new Problem(0, "the service does not answer");
  }
}

interface Body {
  status?: number;
  title?: string;
  detail?: string;
}

async function bodyOf(response: Response): Promise<Body> {
  try {
    return (await response.json()) as Body;
  } catch {
    return {};
  }
}

function problemOf(body: Body, status: number): Problem {
  return new Problem(body.status ?? status, body.detail || body.title || `the service answered ${status}`);
}

export function cancelled(fault: unknown): boolean {
  return fault instanceof DOMException && fault.name === "AbortError";
}
