/**
 * Tokens of the services that plugins share.
 */

import { Token } from '@lumino/coreutils';

import type { Json } from '../api/wire.js';
import type { IContext } from '../ui/context.js';

/** The context of a page. There is one per page, and so one socket. */
export const IPage = new Token<IContext>('jupyter-pai:IPage', 'The engine that views of training jobs ask.');

/** The Train form for other plugins. Paths are below the server root. */
export interface ITrain {
  /** Show the form of a notebook, script or folder; fill in a request if given. */
  open(path: string, request?: Json): Promise<void>;
  /** Submit the last job of a notebook, script or folder again; show the form if there is none. */
  again(path: string): Promise<void>;
  /** Add data, owned by the account of a profile, as an input of the active form. */
  useInput(uri: string, profile?: string): void;
}

export const ITrain = new Token<ITrain>('jupyter-pai:ITrain', 'The form that submits training jobs.');
