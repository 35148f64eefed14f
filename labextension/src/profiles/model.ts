/**
 * Model of the profiles page: the profiles, the one being edited, and test results.
 *
 * Typed credentials stay here until they are sent; the server never returns them.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import type { ITrouble } from '../api/jobmodel.js';
import type { Json } from '../api/wire.js';
import { mapped, record, string } from '../api/wire.js';
import type { IFinding, IPlatform, IProfileView } from './profiles.js';
import { changesOf, parseFindings, parsePlatforms, parseProfiles } from './profiles.js';

/** A profile that is being added or edited. Errors are by field name. */
export interface IEditing {
  /** The stored profile; null for a new one. */
  readonly profile: IProfileView | null;
  readonly platform: IPlatform;
  readonly name: string;
  readonly values: Json;
  readonly login: Json;
  /** Whether there are unsaved changes. */
  readonly isTyped: boolean;
  readonly nameFault: string;
  readonly faults: ReadonlyMap<string, string>;
  readonly loginFaults: ReadonlyMap<string, string>;
  readonly trouble: ITrouble | null;
}

/** The last test of a profile. */
export interface ITest {
  readonly isRunning: boolean;
  readonly findings: readonly IFinding[];
  readonly trouble: ITrouble | null;
}

const NONE: ReadonlyMap<string, string> = new Map();
const QUIET = { nameFault: '', faults: NONE, loginFaults: NONE, trouble: null } as const;

export class ProfilesModel {
  constructor(
    private readonly engine: IEngine,
    private readonly trans: TranslationBundle
  ) {}

  /** Null until loaded. */
  profiles: readonly IProfileView[] | null = null;
  platforms: readonly IPlatform[] = [];
  /** The file of credentials that are not stored in a keyring. */
  file = '';
  trouble: ITrouble | null = null;
  editing: IEditing | null = null;
  isBusy = false;
  readonly tests = new Map<string, ITest>();

  /** Emitted when a field above changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Load everything. */
  async load(): Promise<void> {
    await this.work(async () => {
      const [platforms, profiles] = await Promise.all([this.engine.call('backends'), this.engine.call('profiles')]);
      this.platforms = parsePlatforms(platforms);
      this.take(profiles);
    });
  }

  platformOf(profile: IProfileView): IPlatform | undefined {
    return this.platforms.find(platform => platform.name === profile.backend);
  }

  /** Start a new profile of a platform, with the platform's name or a numbered one. */
  add(platform: IPlatform): void {
    const taken = (this.profiles ?? []).map(profile => profile.name);
    const names = [platform.name, ...taken.map((_, n) => `${platform.name}-${n + 2}`)];
    const name = names.find(free => !taken.includes(free)) ?? '';
    this.edit({ profile: null, platform, name, values: {}, login: {}, isTyped: false, ...QUIET });
  }

  /** Start editing a profile; no effect if its platform is missing. */
  change(profile: IProfileView): void {
    const platform = this.platformOf(profile);
    if (platform) {
      this.edit({
        profile,
        platform,
        name: profile.name,
        values: profile.settings,
        login: {},
        isTyped: false,
        ...QUIET
      });
    }
  }

  /** Update the form. Errors stay until it is saved again. */
  type(change: Partial<Pick<IEditing, 'name' | 'values' | 'login'>>): void {
    if (this.editing) {
      this.edit({ ...this.editing, ...change, isTyped: true });
    }
  }

  /** Close the form and discard its changes. */
  close(): void {
    this.edit(null);
  }

  /** Save the profile and its credentials; return whether that succeeded. Errors are shown in the form. */
  async save(): Promise<boolean> {
    const { editing } = this;
    if (!editing || this.isBusy) {
      return false;
    }
    const name = editing.name.trim();
    const nameFault = editing.profile ? '' : this.faultOfName(name);
    if (nameFault) {
      this.edit({ ...editing, ...QUIET, nameFault });
      return false;
    }
    this.edit({ ...editing, ...QUIET });
    this.isBusy = true;
    this.signal.emit();
    try {
      return (await this.saveSettings(name)) && (await this.saveLogin(name));
    } finally {
      this.isBusy = false;
      this.signal.emit();
    }
  }

  async makeDefault({ name }: IProfileView): Promise<void> {
    await this.work(async () => {
      this.take(await this.engine.call('set_profile', { profile: name }, { default: true }));
    });
  }

  /** Remove a profile with its credentials. */
  async remove({ name }: IProfileView): Promise<void> {
    await this.work(async () => {
      this.take(await this.engine.call('remove_profile', { profile: name }));
      this.tests.delete(name);
    });
  }

  /** Remove the credentials of a profile. */
  async logOut({ name }: IProfileView): Promise<void> {
    await this.work(async () => {
      this.take(await this.engine.call('remove_credentials', { profile: name }));
      const profile = this.profiles?.find(one => one.name === name);
      if (profile && this.editing?.profile?.name === name) {
        this.edit({ ...this.editing, profile });
      }
    });
  }

  /** Test everything that jobs of a profile need. */
  async test({ name }: IProfileView): Promise<void> {
    if (this.tests.get(name)?.isRunning) {
      return;
    }
    this.note(name, { isRunning: true, findings: [], trouble: null });
    try {
      const findings = parseFindings(await this.engine.call('doctor', { profile: name }));
      this.note(name, { isRunning: false, findings, trouble: null });
    } catch (error) {
      this.note(name, { isRunning: false, findings: [], trouble: troubleOf(error) });
    }
  }

  private faultOfName(name: string): string {
    if (!name) {
      return this.trans.__('Name is required.');
    }
    const isTaken = this.profiles?.some(profile => profile.name === name);
    return isTaken ? this.trans.__('A profile with this name already exists.') : '';
  }

  /** Save the settings first, since credentials need an existing profile. */
  private async saveSettings(name: string): Promise<boolean> {
    const { editing } = this;
    if (!editing) {
      return false;
    }
    const { profile, platform, values } = editing;
    const changes = profile ? changesOf(profile.settings, values) : { backend: platform.name, ...values };
    if (!Object.keys(changes).length) {
      return true;
    }
    try {
      this.take(await this.engine.call('set_profile', { profile: name }, { values: changes }));
    } catch (error) {
      const [faults, trouble] = faultsOf(error, platform.settings, name);
      this.edit({ ...editing, faults, trouble });
      return false;
    }
    // The profile exists now, so later errors concern editing it.
    const made = this.profiles?.find(one => one.name === name) ?? null;
    this.edit({ ...editing, profile: made, values: made?.settings ?? values });
    return true;
  }

  private async saveLogin(name: string): Promise<boolean> {
    const { editing } = this;
    if (editing && Object.keys(editing.login).length) {
      try {
        this.take(await this.engine.call('set_credentials', { profile: name }, editing.login));
      } catch (error) {
        const [loginFaults, trouble] = faultsOf(error, editing.platform.credentials, name);
        this.edit({ ...editing, loginFaults, trouble });
        return false;
      }
    }
    this.tests.delete(name);
    this.close();
    return true;
  }

  private async work(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.trouble = null;
    } catch (error) {
      this.trouble = troubleOf(error);
    }
    this.signal.emit();
  }

  private take(answer: unknown): void {
    [this.profiles, this.file] = parseProfiles(answer);
  }

  private edit(editing: IEditing | null): void {
    this.editing = editing;
    this.signal.emit();
  }

  private note(name: string, test: ITest): void {
    this.tests.set(name, test);
    this.signal.emit();
  }

  private readonly signal = new Signal<this, void>(this);
}

/**
 * Return errors by field of a schema; or the error itself if it concerns none of them, such as one of another profile.
 */
function faultsOf(error: unknown, schema: Json | null, name: string): [ReadonlyMap<string, string>, ITrouble | null] {
  const details = error instanceof EngineError ? error.details : {};
  const said = mapped(
    [undefined, name].includes(details['profile'] as string | undefined) ? details['faults'] : null,
    string
  );
  const known = record(schema?.['properties']);
  const faults = new Map([...said].filter(([field]) => (field.split('.')[0] ?? '') in known));
  return [faults, faults.size ? null : troubleOf(error)];
}

function troubleOf(error: unknown): ITrouble {
  const fix = error instanceof EngineError ? error.fix : '';
  return { message: error instanceof Error ? error.message : String(error), fix };
}
