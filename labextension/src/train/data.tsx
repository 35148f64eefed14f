/**
 * The data of the job: inputs and outputs.
 */

import * as React from 'react';

import { parseMap, string } from '../api/wire.js';
import { Channels } from '../ui/fields/channels.js';
import { FieldError } from '../ui/fields/fielderror.js';
import { plural } from '../ui/format.js';
import { field } from './draft.js';
import { CollapsibleSection, TextField } from './field.js';
import type { ISectionProps } from './section.js';
import { entryCount, errorAt, errorsBelow, hasError, setField, textAt } from './section.js';

export function DataSection(props: ISectionProps): React.JSX.Element {
  const { form, draft, engine, host, trans } = props;
  const [inputs, outputs] = [entryCount(props, 'inputs'), entryCount(props, 'outputs')];
  const path = textAt(props, 'output_path');
  const summary = [
    inputs && plural(inputs, trans.__('%1 input', inputs), trans.__('%1 inputs', inputs)),
    outputs && plural(outputs, trans.__('%1 output', outputs), trans.__('%1 outputs', outputs)),
    path
  ];
  const channels = (kind: 'inputs' | 'outputs') => (
    <>
      <FieldError text={errorAt(props, kind)} />
      <Channels
        engine={engine}
        host={host}
        trans={trans}
        kind={kind}
        value={Object.fromEntries(parseMap(field(draft, kind), string))}
        onChange={value => setField(props, kind, value)}
        errors={errorsBelow(props, kind)}
        profile={form.preview?.profile ?? ''}
        home={textAt(props, 'source.folder')}
      />
    </>
  );
  return (
    <CollapsibleSection
      title={trans.__('Data')}
      summary={summary.filter(Boolean).join(', ')}
      hasError={hasError(props, ['inputs', 'outputs', 'output_path'])}
    >
      {channels('inputs')}
      {channels('outputs')}
      <TextField
        label={trans.__('Output folder')}
        value={path}
        placeholder={trans.__('job folder')}
        error={errorAt(props, 'output_path')}
        onChange={value => setField(props, 'output_path', value)}
      />
    </CollapsibleSection>
  );
}
