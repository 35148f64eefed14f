/**
 * What our plugins give each other.
 */

import { Token } from '@lumino/coreutils';

import type { Json } from '../api/wire.js';
import type { IContext } from '../ui/context.js';

/** The engine, the surroundings and the language of a page: one of each, so that there is one socket. */
export const IPage = new Token<IContext>('jupyter-pai:IPage', 'The engine that views of training jobs ask.');

/** The form that submits, as others may use it. Paths are below the server's root. */
export interface ITrain {
  /** Show the form for a notebook, a script or a folder; with a whole request in it, if one is given. */
  open(path: string, request?: Json): Promise<void>;
  /** Submit once more what was submitted last of a notebook, a script or a folder. The form is shown if nothing was. */
  again(path: string): Promise<void>;
  /** Make data, which is in the account of a profile, an input of what the form is for. */
  useInput(uri: string, profile?: string): void;
}

export const ITrain = new Token<ITrain>('jupyter-pai:ITrain', 'The form that submits training jobs.');
