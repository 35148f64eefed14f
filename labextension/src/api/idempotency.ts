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
   * @param what - the request, serializable as JSON.
   */
  async use<T>(what: unknown, submit: (key: string) => Promise<T>): Promise<T> {
    const text = JSON.stringify(what);
    const key = this.lost?.what === text ? this.lost.key : UUID.uuid4();
    this.lost = null;
    try {
      return await submit(key);
    } catch (error) {
      this.lost = isLost(error) ? { what: text, key } : null;
      throw error;
    }
  }

  private lost: { readonly what: string; readonly key: string } | null = null;
}

/** Whether the outcome of a call is unknown. Errors of the engine have a code; those of a proxy have none. */
function isLost(error: unknown): boolean {
  return !(error instanceof EngineError && error.code) || error.code === UNREACHABLE;
}
