/** One setting: an option, its variable, and what its values are. */
export interface Setting {
  /** `--<option>`. */
  readonly option: string;
  readonly env: string;
  /** Variables of the original activator that mean the same. */
  readonly aliases?: readonly string[];
  /** What a value looks like. */
  readonly kind:
    | 'text'
    | 'port'
    | 'duration'
    | 'pause'
    | 'size'
    | 'count'
    | 'number'
    | 'flag'
    | 'choice'
    | 'list'
    | 'proxies';
  readonly choices?: readonly string[];
  /** In the form in which it is written; absent: none. */
  readonly default?: string;
  readonly group: 'Service' | 'Shelf' | 'Access' | 'Limits' | 'Engines' | 'Logs' | 'Metrics';
  readonly help: string;
}
