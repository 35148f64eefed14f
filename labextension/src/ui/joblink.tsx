/**
 * Another job, by its id: opened by a click where jobs can be opened.
 */

import * as React from 'react';

import type { IHost } from '../host/host.js';

export function JobLink({ host, jobId }: { host: IHost; jobId: string }): React.JSX.Element {
  return host.openJob ? (
    <button type="button" className="jp-pai-Link" onClick={() => host.openJob?.(jobId)}>
      {jobId}
    </button>
  ) : (
    <code>{jobId}</code>
  );
}
