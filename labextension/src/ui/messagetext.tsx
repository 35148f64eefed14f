/**
 * A message of the engine in which each option of the command line is a button that does the same, or names its field.
 * Not for notes: they may name options of other programs, such as those in a file of a platform.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IOption } from '../api/options.js';
import { partsOf } from '../api/options.js';
import { LinkedText } from './linkedtext.js';

// The sign behind an option. Browsers break a line between a button and a Chinese one.
const STOP = /^[.,;:)，。；：）]/;

/** The actions of the options in the messages of a view. */
export interface IOptionActions {
  readonly trans: TranslationBundle;
  /** The title of the buttons. */
  readonly title: string;
  /** Return the action of an option; null if the view has none. */
  readonly actionOf: (option: IOption) => (() => void) | null;
}

/** Provided by views that show fields of a spec. Messages elsewhere stay as they are. */
export const OptionActions = React.createContext<IOptionActions | null>(null);

export function MessageText({ text }: { text: string }): React.JSX.Element {
  const actions = React.useContext(OptionActions);
  if (!actions) {
    return <LinkedText text={text} />;
  }
  const labels = labelsOf(actions.trans);
  const parts = partsOf(text, option => option in labels);
  return (
    <>
      {parts.map((part, n) => {
        if (typeof part === 'string') {
          return <LinkedText key={n} text={n ? part.replace(STOP, '') : part} />;
        }
        const action = actions.actionOf(part);
        const whole = textOf(part, labels, actions.trans);
        const shown = textOf({ ...part, value: shortened(part.value) }, labels, actions.trans);
        const isWhole = shown === whole;
        const next = parts[n + 1];
        return (
          <span key={n} className="jp-pai-WithStop">
            {action ? (
              <button
                type="button"
                className="jp-pai-Button jp-mod-inline"
                title={isWhole ? actions.title : actions.trans.__('%1: %2', actions.title, whole)}
                aria-label={isWhole ? undefined : `${shown} (${part.value})`}
                aria-description={actions.title}
                onClick={action}
              >
                {shown}
              </button>
            ) : (
              <em>{whole}</em>
            )}
            {typeof next === 'string' && STOP.exec(next)?.[0]}
          </span>
        );
      })}
    </>
  );
}

/** Return a message with the labels of the form in place of options, where it cannot have buttons. */
export function withLabels(text: string, trans: TranslationBundle): string {
  const labels = labelsOf(trans);
  const parts = partsOf(text, option => option in labels);
  return parts.map(part => (typeof part === 'string' ? part : textOf(part, labels, trans))).join('');
}

/** Return the last two parts of a long path, which fit into a side panel. Other values are returned unchanged. */
function shortened(value: string): string {
  return value.replace(/^(?=.{24})\/.+(?=\/[^/]+\/[^/]+\/?$)/, '…');
}

function textOf(
  { option, name, value }: IOption,
  labels: Readonly<Record<string, string>>,
  trans: TranslationBundle
): string {
  const label = labels[option] ?? '';
  const given = name ? `${name}=${value}` : value;
  return given ? trans.__('%1: %2', label, given) : label;
}

/** The names of the fields and actions in the views, by option. */
function labelsOf(trans: TranslationBundle): Readonly<Record<string, string>> {
  return {
    hp: trans.__('Hyperparameters'),
    env: trans.__('Environment variables'),
    label: trans.__('Labels'),
    secret: trans.__('Secrets'),
    input: trans.__('Inputs'),
    output: trans.__('Outputs'),
    option: trans.__('Options'),
    requirement: trans.__('Extra packages'),
    exclude: trans.__('Exclude'),
    include: trans.__('Include'),
    'allow-secret': trans.__('Send anyway'),
    source: trans.__('Folder'),
    command: trans.__('Command'),
    container: trans.__('Container engine'),
    metric: trans.__('Metrics from the log'),
    role: trans.__('Roles'),
    image: trans.__('Image'),
    'instance-type': trans.__('Instance type'),
    memory: trans.__('Memory'),
    'output-path': trans.__('Output folder'),
    profile: trans.__('Profile'),
    backend: trans.__('Profile'),
    python: trans.__('Interpreter'),
    cpu: trans.__('Cores'),
    gpu: trans.__('GPUs'),
    'instance-count': trans.__('Instances'),
    'max-run-time': trans.__('Time limit in seconds'),
    'no-gitignore': trans.__('Respect .gitignore'),
    'dry-run': trans.__('Files to upload'),
    anyway: trans.__('Submit anyway'),
    again: trans.__('Submit'),
    yes: trans.__('Submit')
  };
}
