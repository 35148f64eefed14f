/**
 * The key by which the engine knows a submit that is sent once more, because its answer was lost, from another one.
 */

import { UUID } from '@lumino/coreutils';

import { EngineError } from './engine.js';

// What a kernel says that heard nothing from the server.
const UNREACHABLE = 'ServerUnreachable';

export class SubmitKey {
  /**
   * What `submit` gives. The key is that of the attempt before where that was for the same, and its answer was lost.
   *
   * A refusal is an answer: the next attempt is a submit of its own.
   *
   * @param what - what is submitted, as JSON can have it.
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

/** Whether nobody knows what became of a call. The engine's own errors have a code; those of a proxy have none. */
function isLost(error: unknown): boolean {
  return !(error instanceof EngineError && error.code) || error.code === UNREACHABLE;
}
