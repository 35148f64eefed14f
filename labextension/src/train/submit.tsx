/**
 * The submit button, with cost, errors and progress.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { Trouble } from '../ui/errormessage.js';
import { FaultText } from '../ui/fields/fielderror.js';
import { plural, size } from '../ui/format.js';
import type { TrainModel } from './panelmodel.js';
import { strayFaults } from './part.js';
import type { IStage } from './submitjob.js';

interface IProps extends IContext {
  readonly model: TrainModel;
  readonly submit: () => void;
  readonly showWrong: () => void;
  /** Load the form again; undefined if it is loaded. */
  readonly lookAgain: (() => void) | undefined;
}

export function TrainSubmit(props: IProps): React.JSX.Element {
  const { model, host, trans, submit, showWrong, lookAgain } = props;
  const { desk } = model;
  const unsaved = host.save ? (desk?.unsaved ?? []) : [];
  const stage = desk?.stage ?? null;
  const faults = desk?.wrong.faults.size ?? 0;
  const costs = new Set([desk?.preview?.cost ?? '', ...(desk?.preview?.questions ?? [])].filter(Boolean));
  return (
    <section className="jp-pai-Train-foot" aria-label={trans.__('Submit')}>
      {[...costs].map(text => (
        <p key={text} className="jp-pai-Train-cost">
          {text}
        </p>
      ))}
      {unsaved.length > 0 && (
        <p className="jp-pai-Train-hint">{trans.__('Unsaved; will be saved first: %1', unsaved.join(', '))}</p>
      )}
      {faults > 0 && (
        <p className="jp-pai-Train-faults">
          <button type="button" className="jp-pai-Link" onClick={showWrong}>
            {plural(faults, trans.__('%1 field needs attention', faults), trans.__('%1 fields need attention', faults))}
          </button>
        </p>
      )}
      {desk && strayFaults(model, desk).map(([name, text]) => <FaultText key={name} text={`${name}: ${text}`} />)}
      <Trouble trouble={desk?.wrong.trouble ?? null} />
      {lookAgain && (
        <button type="button" className="jp-pai-Button" onClick={lookAgain}>
          {trans.__('Refresh')}
        </button>
      )}
      <div className="jp-pai-Actions">
        <button
          type="button"
          className="jp-pai-Button jp-mod-accept jp-pai-Train-submit"
          aria-disabled={stage !== null}
          title={trans.__('Submit (Ctrl+Enter)')}
          onClick={submit}
        >
          {unsaved.length ? trans.__('Save and submit') : trans.__('Submit')}
        </button>
        {stage && (
          <button type="button" className="jp-pai-Button" onClick={() => desk?.cancel()}>
            {trans.__('Cancel')}
          </button>
        )}
      </div>
      <Progress stage={stage} trans={trans} />
    </section>
  );
}

function Progress({ stage, trans }: { stage: IStage | null; trans: IContext['trans'] }): React.JSX.Element {
  const texts: Readonly<Record<IStage['what'], string>> = {
    saving: trans.__('Saving…'),
    checking: trans.__('Checking…'),
    bringing: trans.__('Transferring inputs…'),
    submitting: trans.__('Packing and uploading…')
  };
  const copy = stage?.copy;
  return (
    <>
      <p className="jp-pai-Train-stage" role="status">
        {stage && texts[stage.what]}
      </p>
      {copy && (
        <div className="jp-pai-Copy">
          <progress value={copy.done} max={Math.max(copy.bytes, 1)} aria-label={texts.bringing} />
          <span>{trans.__('%1 of %2', size(copy.done), size(copy.bytes))}</span>
        </div>
      )}
    </>
  );
}
