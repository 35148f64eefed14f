/**
 * The engine in the Jupyter server: calls over HTTP and one WebSocket, with the login of the browser tab.
 */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';

import { missingExtensionError, NO_SERVER_EXTENSION } from './compatibility.js';
import type { IConnection, IEngine, Parameters } from './engine.js';
import { EngineError } from './engine.js';
import { HeartbeatSocket } from './heartbeat.js';
import type { Verb } from './routes.js';
import { PREFIX, ROUTES } from './routes.js';
import { JobStream } from './stream.js';
import type { Message, Topic } from './wire.js';
import { record, string } from './wire.js';

export class ServerEngine implements IEngine {
  constructor(
    private readonly settings: ServerConnection.ISettings,
    private readonly trans: () => TranslationBundle,
    private readonly language: string
  ) {
    this.stream = new JobStream(() => new HeartbeatSocket(this.openSocket()));
    // These listeners live as long as the page.
    ['online', 'offline'].forEach(event => addEventListener(event, () => this.stream.check()));
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && this.stream.check());
    this.stream.watch(({ state }) => {
      if (state === 'broken') {
        this.about = null; // The server may start again with another version.
      }
    }, new AbortController().signal);
  }

  readonly kind = 'server';

  call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    return verb === 'about'
      ? this.fetchAbout()
      : this.request(verb, parameters, body === undefined ? {} : { body: JSON.stringify(body) });
  }

  sendBytes(verb: Verb, parameters: Parameters, bytes: Blob, signal: AbortSignal): Promise<unknown> {
    return this.request(verb, parameters, { body: bytes, signal }, { 'Content-Type': 'application/octet-stream' });
  }

  /** Return the version and the names that several parts of a page need, requested once per connection. */
  private fetchAbout(): Promise<unknown> {
    return (this.about ??= this.request('about', {}, {}).catch((error: unknown) => {
      this.about = null;
      throw error;
    }));
  }

  private async request(
    verb: Verb,
    parameters: Parameters,
    options: RequestInit,
    headers: Record<string, string> = {}
  ): Promise<unknown> {
    const init = { ...options, method: ROUTES[verb].method, headers: { 'Accept-Language': this.language, ...headers } };
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(this.routeUrl(verb, parameters), init, this.settings);
    } catch (error) {
      throw new EngineError(error instanceof Error ? error.message : String(error));
    }
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok) {
      const { message, fix, code, details } = record(body);
      if (response.status === 404 && !string(code)) {
        throw missingExtensionError(this.trans()); // Errors of the engine have a code.
      }
      const text = string(message) || response.statusText;
      throw new EngineError(text, string(fix), string(code), response.status, record(details));
    }
    return body;
  }

  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    void this.checkExtension().then(error => {
      if (!error) {
        this.stream.subscribe(topic, receive, signal);
      } else if (!signal.aborted) {
        receive({ id: 0, type: 'error', message: error.message, fix: error.fix, code: error.code });
      }
    });
  }

  watch(receive: (connection: IConnection) => void, signal: AbortSignal): void {
    this.stream.watch(receive, signal);
  }

  url(verb: Verb, parameters: Parameters): string {
    const url = this.routeUrl(verb, parameters);
    const { appendToken, token } = this.settings;
    return appendToken && token ? `${url}${url.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}` : url;
  }

  private routeUrl(verb: Verb, parameters: Parameters): string {
    const [path, query] = expandRoute(ROUTES[verb].path, parameters);
    return URLExt.join(this.settings.baseUrl, PREFIX, path) + query;
  }

  /**
   * Return the error of a missing server extension, checked once a page. No socket is opened to a server without it.
   */
  private checkExtension(): Promise<EngineError | null> {
    this.extensionCheck ??= this.call('about').then(
      () => null,
      (error: unknown) => (error instanceof EngineError && error.code === NO_SERVER_EXTENSION ? error : null)
    );
    return this.extensionCheck;
  }

  private openSocket(): WebSocket {
    const { appendToken, token, wsUrl } = this.settings;
    const parameters = { language: this.language, token: appendToken ? token : '' }; // A WebSocket has no headers.
    const [path, query] = expandRoute('stream', parameters);
    return new this.settings.WebSocket(URLExt.join(wsUrl, PREFIX, path) + query);
  }

  private readonly stream: JobStream;
  private about: Promise<unknown> | null = null;
  private extensionCheck: Promise<EngineError | null> | null = null;
}

/**
 * Return the path and query of a route with its parameters. Undefined, false and empty query parameters are left out.
 */
export function expandRoute(path: string, parameters: Parameters): [string, string] {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const slot = `{${name}}`;
    if (path.includes(slot)) {
      path = path.replace(slot, encodeURIComponent(String(value)));
    } else if (value !== undefined && value !== false && value !== '') {
      [value].flat().forEach(item => query.append(name, String(item)));
    }
  }
  const text = query.toString();
  return [path, text && `?${text}`];
}
