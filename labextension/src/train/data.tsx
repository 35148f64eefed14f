/**
 * The data of the job: inputs and outputs.
 */

import * as React from 'react';

import { mapped, string } from '../api/wire.js';
import { Channels } from '../ui/fields/channels.js';
import { FaultText } from '../ui/fields/fielderror.js';
import { plural } from '../ui/format.js';
import { field } from './draft.js';
import { Fold, TextField } from './field.js';
import type { IPart } from './part.js';
import { faultAt, faultsBelow, isWrong, set, sizeAt, textAt } from './part.js';

export function TrainData(props: IPart): React.JSX.Element {
  const { desk, draft, engine, host, trans } = props;
  const [inputs, outputs] = [sizeAt(props, 'inputs'), sizeAt(props, 'outputs')];
  const path = textAt(props, 'output_path');
  const said = [
    inputs && plural(inputs, trans.__('%1 input', inputs), trans.__('%1 inputs', inputs)),
    outputs && plural(outputs, trans.__('%1 output', outputs), trans.__('%1 outputs', outputs)),
    path
  ];
  const channels = (kind: 'inputs' | 'outputs') => (
    <>
      <FaultText text={faultAt(props, kind)} />
      <Channels
        engine={engine}
        host={host}
        trans={trans}
        kind={kind}
        value={Object.fromEntries(mapped(field(draft, kind), string))}
        onChange={value => set(props, kind, value)}
        faults={faultsBelow(props, kind)}
        profile={desk.preview?.profile ?? ''}
        home={textAt(props, 'source.folder')}
      />
    </>
  );
  return (
    <Fold
      title={trans.__('Data')}
      said={said.filter(Boolean).join(', ')}
      isWrong={isWrong(props, ['inputs', 'outputs', 'output_path'])}
    >
      {channels('inputs')}
      {channels('outputs')}
      <TextField
        label={trans.__('Output folder')}
        value={path}
        placeholder={trans.__('job folder')}
        fault={faultAt(props, 'output_path')}
        onChange={value => set(props, 'output_path', value)}
      />
    </Fold>
  );
}
