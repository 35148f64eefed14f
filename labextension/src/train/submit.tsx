/**
 * The submit button, with cost, errors and progress.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { FieldError } from '../ui/fields/fielderror.js';
import { plural, size } from '../ui/format.js';
import { MessageText } from '../ui/messagetext.js';
import type { TrainPanelModel } from './panelmodel.js';
import { unassignedErrors } from './section.js';
import type { IStage } from './submitjob.js';

interface IProps extends IContext {
  readonly model: TrainPanelModel;
  readonly submit: (isAnyway?: boolean) => void;
  readonly showWrong: () => void;
  /** Load the form again; undefined if it is loaded. */
  readonly reload: (() => void) | undefined;
}

export function SubmitSection(props: IProps): React.JSX.Element {
  const { model, host, trans, submit, showWrong, reload } = props;
  const { form } = model;
  const unsaved = host.save ? (form?.unsaved ?? []) : [];
  const stage = form?.stage ?? null;
  const errors = form?.errors.fields.size ?? 0;
  const questions = new Set([form?.preview?.cost ?? '', ...(form?.preview?.questions ?? [])].filter(Boolean));
  return (
    <section className="jp-pai-Train-foot" aria-label={trans.__('Submit')}>
      {[...questions].map(text => (
        <p key={text} className="jp-pai-Train-cost">
          <MessageText text={text} />
        </p>
      ))}
      {unsaved.length > 0 && (
        <p className="jp-pai-Train-hint">{trans.__('Unsaved; will be saved first: %1', unsaved.join(', '))}</p>
      )}
      {errors > 0 && (
        <p className="jp-pai-Train-faults">
          <button type="button" className="jp-pai-Link" onClick={showWrong}>
            {plural(errors, trans.__('%1 field needs attention', errors), trans.__('%1 fields need attention', errors))}
          </button>
        </p>
      )}
      {form && unassignedErrors(model, form).map(([name, text]) => <FieldError key={name} text={`${name}: ${text}`} />)}
      <ErrorMessage error={form?.errors.message ?? null} />
      {reload && (
        <button type="button" className="jp-pai-Button" onClick={reload}>
          {trans.__('Refresh')}
        </button>
      )}
      <div className="jp-pai-Actions">
        <button
          type="button"
          className="jp-pai-Button jp-mod-accept jp-pai-Train-submit"
          aria-disabled={stage !== null}
          title={trans.__('Submit (Ctrl+Enter)')}
          onClick={() => submit()}
        >
          {unsaved.length ? trans.__('Save and submit') : trans.__('Submit')}
        </button>
        {!stage && form?.errors.canSubmitAnyway && (
          <button type="button" className="jp-pai-Button" onClick={() => submit(true)}>
            {trans.__('Submit anyway')}
          </button>
        )}
        {stage && (
          <button type="button" className="jp-pai-Button" onClick={() => form?.cancel()}>
            {trans.__('Cancel')}
          </button>
        )}
      </div>
      <Progress stage={stage} trans={trans} />
    </section>
  );
}

function Progress({ stage, trans }: { stage: IStage | null; trans: IContext['trans'] }): React.JSX.Element {
  const texts: Readonly<Record<IStage['name'], string>> = {
    saving: trans.__('Saving…'),
    checking: trans.__('Checking…'),
    bringing: trans.__('Transferring inputs…'),
    submitting: trans.__('Packing and uploading…')
  };
  const transfer = stage?.transfer;
  return (
    <>
      <p className="jp-pai-Train-stage" role="status">
        {stage && (stage.wait ?? texts[stage.name])}
      </p>
      {transfer && (
        <div className="jp-pai-Copy">
          <progress value={transfer.done} max={Math.max(transfer.bytes, 1)} aria-label={texts.bringing} />
          <span>{trans.__('%1 of %2', size(transfer.done), size(transfer.bytes))}</span>
        </div>
      )}
    </>
  );
}
