// What is shown where the page itself fails: a sentence and a way on, never a blank view.

import { Component, type ComponentChildren } from "preact";

interface Properties {
  children: ComponentChildren;
}

export class Mishap extends Component<Properties, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <main class="blank" id="main">
        <p role="alert">This view could not be drawn: that is a bug of the page.</p>
        <a href={location.pathname}>Start again</a>
      </main>
    );
  }
}
