/**
 * Idempotency keys: the engine recognizes a submit that is repeated because its response was lost.
 */

import { UUID } from '@lumino/coreutils';

import { EngineError } from './engine.js';

// Reported by a kernel that received no response from the server.
const UNREACHABLE = 'ServerUnreachable';

export class SubmitKey {
  /**
   * Return the result of `submit`. An attempt for the same request whose response was lost passes its key on.
   *
   * An error response is a response: the next attempt gets a new key.
   *
   * @param request - the request, serializable as JSON.
   */
  async use<T>(request: unknown, submit: (key: string) => Promise<T>): Promise<T> {
    const text = JSON.stringify(request);
    const key = this.unanswered?.text === text ? this.unanswered.key : UUID.uuid4();
    this.unanswered = null;
    try {
      return await submit(key);
    } catch (error) {
      this.unanswered = isLost(error) ? { text, key } : null;
      throw error;
    }
  }

  private unanswered: { readonly text: string; readonly key: string } | null = null;
}

/** Return whether the outcome of a call is unknown. Errors of the engine have a code; those of a proxy have none. */
function isLost(error: unknown): boolean {
  return !(error instanceof EngineError && error.code) || error.code === UNREACHABLE;
}
