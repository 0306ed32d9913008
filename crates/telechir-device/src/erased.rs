//! Boxed devices, whose type is chosen at run time. The only module that boxes their futures.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use telechir_protocol::{ActionKind, CommandOutput, EditStep, EditTool, Size};

use crate::{
    ActionReport, Computer, DeviceError, Edited, Editor, Frame, Mark, PageContext, PartLocation,
    Screen, ScreenAction, ScreenPart, ScreenRegion, Settle, Settled, Shell, ShellCommand,
    ShellInput, ShellJob, TextLine, TextRecognizer, UntilStopped, Viewport,
};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, DeviceError>> + Send + 'a>>;

trait AnyComputer: Send {
    fn size(&self) -> Size;
    fn supports(&self, kind: &ActionKind) -> bool;
    fn capture(&mut self) -> Boxed<'_, Frame>;
    fn stopped(&self) -> Option<&'static str>;
    fn marks(&mut self, at_most: usize) -> Boxed<'_, Vec<Mark>>;
    fn ocr_words(&mut self, at_most: usize) -> Boxed<'_, Vec<Mark>>;
    fn until_stopped(&self) -> UntilStopped;
    fn visible_region(&self) -> ScreenRegion;
    fn locate_part<'a>(&'a mut self, part: &'a ScreenPart) -> Boxed<'a, PartLocation>;
    fn set_viewport(&mut self, viewport: Viewport);
    fn perform<'a>(&'a mut self, action: &'a ScreenAction) -> Boxed<'a, ActionReport>;
    fn settle(&mut self, settle: Settle) -> Boxed<'_, Settled>;
    fn settle_and_capture(&mut self, settle: Settle) -> Boxed<'_, (Frame, Settled)>;
    fn page_context(&mut self) -> Boxed<'_, PageContext>;
    fn release_inputs(&mut self) -> Boxed<'_, ()>;
    fn close(self: Box<Self>) -> Boxed<'static, ()>;
}

impl<C: Computer + 'static> AnyComputer for C {
    fn size(&self) -> Size {
        Computer::size(self)
    }
    fn supports(&self, kind: &ActionKind) -> bool {
        Computer::supports(self, kind)
    }
    fn capture(&mut self) -> Boxed<'_, Frame> {
        Box::pin(Computer::capture(self))
    }
    fn stopped(&self) -> Option<&'static str> {
        Computer::stopped(self)
    }
    fn marks(&mut self, at_most: usize) -> Boxed<'_, Vec<Mark>> {
        Box::pin(Computer::marks(self, at_most))
    }
    fn ocr_words(&mut self, at_most: usize) -> Boxed<'_, Vec<Mark>> {
        Box::pin(Computer::ocr_words(self, at_most))
    }

    fn until_stopped(&self) -> UntilStopped {
        Computer::until_stopped(self)
    }
    fn visible_region(&self) -> ScreenRegion {
        Computer::visible_region(self)
    }
    fn locate_part<'a>(&'a mut self, part: &'a ScreenPart) -> Boxed<'a, PartLocation> {
        Box::pin(Computer::locate_part(self, part))
    }
    fn set_viewport(&mut self, viewport: Viewport) {
        Computer::set_viewport(self, viewport);
    }
    fn perform<'a>(&'a mut self, action: &'a ScreenAction) -> Boxed<'a, ActionReport> {
        Box::pin(Computer::perform(self, action))
    }
    fn settle(&mut self, settle: Settle) -> Boxed<'_, Settled> {
        Box::pin(Computer::settle(self, settle))
    }
    fn settle_and_capture(&mut self, settle: Settle) -> Boxed<'_, (Frame, Settled)> {
        Box::pin(Computer::settle_and_capture(self, settle))
    }
    fn page_context(&mut self) -> Boxed<'_, PageContext> {
        Box::pin(Computer::page_context(self))
    }
    fn release_inputs(&mut self) -> Boxed<'_, ()> {
        Box::pin(Computer::release_inputs(self))
    }
    fn close(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(Computer::close(*self))
    }
}

/// A [`Computer`] whose type is chosen at run time.
pub struct BoxComputer(Box<dyn AnyComputer>);

impl BoxComputer {
    /// Moves a computer into a box, which hides its type.
    pub fn new(computer: impl Computer + 'static) -> Self {
        Self(Box::new(computer))
    }
}

impl Computer for BoxComputer {
    fn size(&self) -> Size {
        self.0.size()
    }
    fn supports(&self, kind: &ActionKind) -> bool {
        self.0.supports(kind)
    }
    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        self.0.capture().await
    }
    fn stopped(&self) -> Option<&'static str> {
        self.0.stopped()
    }
    async fn marks(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        self.0.marks(at_most).await
    }
    async fn ocr_words(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        self.0.ocr_words(at_most).await
    }

    fn until_stopped(&self) -> UntilStopped {
        self.0.until_stopped()
    }
    fn visible_region(&self) -> ScreenRegion {
        self.0.visible_region()
    }
    async fn locate_part(&mut self, part: &ScreenPart) -> Result<PartLocation, DeviceError> {
        self.0.locate_part(part).await
    }
    fn set_viewport(&mut self, viewport: Viewport) {
        self.0.set_viewport(viewport);
    }
    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        self.0.perform(action).await
    }
    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        self.0.settle(settle).await
    }
    async fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> Result<(Frame, Settled), DeviceError> {
        self.0.settle_and_capture(settle).await
    }
    async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        self.0.page_context().await
    }
    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        self.0.release_inputs().await
    }
    async fn close(self) -> Result<(), DeviceError> {
        self.0.close().await
    }
}

trait AnyReader: Send {
    fn read<'a>(&'a mut self, frame: &'a Frame) -> Boxed<'a, Vec<TextLine>>;
}

impl<R: TextRecognizer + 'static> AnyReader for R {
    fn read<'a>(&'a mut self, frame: &'a Frame) -> Boxed<'a, Vec<TextLine>> {
        Box::pin(TextRecognizer::read(self, frame))
    }
}

/// A [`TextRecognizer`](crate::TextRecognizer) whose type is chosen at run time.
pub struct BoxTextRecognizer(Box<dyn AnyReader>);

impl BoxTextRecognizer {
    /// Boxes a text recognizer.
    pub fn new(reader: impl TextRecognizer + 'static) -> Self {
        Self(Box::new(reader))
    }
}

impl TextRecognizer for BoxTextRecognizer {
    async fn read(&mut self, frame: &Frame) -> Result<Vec<TextLine>, DeviceError> {
        self.0.read(frame).await
    }
}

trait AnyScreen: Send {
    fn size(&self) -> Size;
    fn environment(&self) -> Vec<(String, String)>;
    fn capture(&mut self) -> Boxed<'_, Frame>;
    fn settle(&mut self, settle: Settle) -> Boxed<'_, Settled>;
    fn close(self: Box<Self>) -> Boxed<'static, ()>;
}

impl<S: Screen + 'static> AnyScreen for S {
    fn size(&self) -> Size {
        Screen::size(self)
    }
    fn environment(&self) -> Vec<(String, String)> {
        Screen::environment(self)
    }
    fn capture(&mut self) -> Boxed<'_, Frame> {
        Box::pin(Screen::capture(self))
    }
    fn settle(&mut self, settle: Settle) -> Boxed<'_, Settled> {
        Box::pin(Screen::settle(self, settle))
    }
    fn close(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(Screen::close(*self))
    }
}

/// A [`Screen`] whose type is chosen at run time.
pub struct BoxScreen(Box<dyn AnyScreen>);

impl BoxScreen {
    /// Moves a screen into a box, which hides its type.
    pub fn new(screen: impl Screen + 'static) -> Self {
        Self(Box::new(screen))
    }
}

impl Screen for BoxScreen {
    fn size(&self) -> Size {
        self.0.size()
    }
    fn environment(&self) -> Vec<(String, String)> {
        self.0.environment()
    }
    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        self.0.capture().await
    }
    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        self.0.settle(settle).await
    }
    async fn close(self) -> Result<(), DeviceError> {
        self.0.close().await
    }
}

trait AnyShell: Send {
    fn run<'a>(&'a mut self, command: &'a ShellCommand) -> Boxed<'a, CommandOutput>;
    fn send<'a>(&'a mut self, input: &'a ShellInput) -> Boxed<'a, CommandOutput>;
    fn hides_input(&self, job: Option<&str>) -> bool;
    fn start<'a>(&'a mut self, command: &'a ShellCommand) -> Boxed<'a, CommandOutput>;
    fn jobs(&mut self) -> Boxed<'_, Vec<ShellJob>>;
    fn read<'a>(&'a mut self, job: &'a str, max_bytes: usize) -> Boxed<'a, CommandOutput>;
    fn stop<'a>(&'a mut self, job: &'a str, max_bytes: usize) -> Boxed<'a, CommandOutput>;
    fn end_command(&mut self) -> Boxed<'_, Option<CommandOutput>>;
    fn restart(&mut self) -> Boxed<'_, ()>;
    fn cwd(&self) -> Option<String>;
    fn is_sandboxed(&self) -> bool;
    fn bounds(&self) -> Option<String>;
    fn close(self: Box<Self>) -> Boxed<'static, ()>;
}

impl<S: Shell + 'static> AnyShell for S {
    fn run<'a>(&'a mut self, command: &'a ShellCommand) -> Boxed<'a, CommandOutput> {
        Box::pin(Shell::run(self, command))
    }
    fn send<'a>(&'a mut self, input: &'a ShellInput) -> Boxed<'a, CommandOutput> {
        Box::pin(Shell::send(self, input))
    }
    fn hides_input(&self, job: Option<&str>) -> bool {
        Shell::hides_input(self, job)
    }
    fn start<'a>(&'a mut self, command: &'a ShellCommand) -> Boxed<'a, CommandOutput> {
        Box::pin(Shell::start(self, command))
    }
    fn jobs(&mut self) -> Boxed<'_, Vec<ShellJob>> {
        Box::pin(Shell::jobs(self))
    }
    fn read<'a>(&'a mut self, job: &'a str, max_bytes: usize) -> Boxed<'a, CommandOutput> {
        Box::pin(Shell::read(self, job, max_bytes))
    }
    fn stop<'a>(&'a mut self, job: &'a str, max_bytes: usize) -> Boxed<'a, CommandOutput> {
        Box::pin(Shell::stop(self, job, max_bytes))
    }
    fn end_command(&mut self) -> Boxed<'_, Option<CommandOutput>> {
        Box::pin(Shell::end_command(self))
    }
    fn restart(&mut self) -> Boxed<'_, ()> {
        Box::pin(Shell::restart(self))
    }
    fn cwd(&self) -> Option<String> {
        Shell::cwd(self)
    }
    fn is_sandboxed(&self) -> bool {
        Shell::is_sandboxed(self)
    }
    fn bounds(&self) -> Option<String> {
        Shell::bounds(self)
    }
    fn close(self: Box<Self>) -> Boxed<'static, ()> {
        Box::pin(Shell::close(*self))
    }
}

/// A [`Shell`] whose type is chosen at run time.
pub struct BoxShell(Box<dyn AnyShell>);

impl BoxShell {
    /// Moves a shell into a box, which hides its type.
    pub fn new(shell: impl Shell + 'static) -> Self {
        Self(Box::new(shell))
    }
}

impl Shell for BoxShell {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        self.0.run(command).await
    }
    async fn send(&mut self, input: &ShellInput) -> Result<CommandOutput, DeviceError> {
        self.0.send(input).await
    }
    fn hides_input(&self, job: Option<&str>) -> bool {
        self.0.hides_input(job)
    }
    async fn start(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        self.0.start(command).await
    }
    async fn jobs(&mut self) -> Result<Vec<ShellJob>, DeviceError> {
        self.0.jobs().await
    }
    async fn read(&mut self, job: &str, max_bytes: usize) -> Result<CommandOutput, DeviceError> {
        self.0.read(job, max_bytes).await
    }
    async fn stop(&mut self, job: &str, max_bytes: usize) -> Result<CommandOutput, DeviceError> {
        self.0.stop(job, max_bytes).await
    }
    async fn end_command(&mut self) -> Result<Option<CommandOutput>, DeviceError> {
        self.0.end_command().await
    }
    async fn restart(&mut self) -> Result<(), DeviceError> {
        self.0.restart().await
    }
    fn cwd(&self) -> Option<String> {
        self.0.cwd()
    }
    fn is_sandboxed(&self) -> bool {
        self.0.is_sandboxed()
    }
    fn bounds(&self) -> Option<String> {
        self.0.bounds()
    }
    async fn close(self) -> Result<(), DeviceError> {
        self.0.close().await
    }
}

trait AnyEditor: Send {
    fn locate<'a>(&'a mut self, tool: EditTool, step: &'a EditStep) -> Boxed<'a, EditStep>;
    fn edit<'a>(&'a mut self, tool: EditTool, located: &'a EditStep) -> Boxed<'a, Edited>;
    fn workspace(&self) -> String;
    fn memory(&self) -> Option<String>;
}

impl<E: Editor + 'static> AnyEditor for E {
    fn locate<'a>(&'a mut self, tool: EditTool, step: &'a EditStep) -> Boxed<'a, EditStep> {
        Box::pin(Editor::locate(self, tool, step))
    }
    fn edit<'a>(&'a mut self, tool: EditTool, located: &'a EditStep) -> Boxed<'a, Edited> {
        Box::pin(Editor::edit(self, tool, located))
    }
    fn workspace(&self) -> String {
        Editor::workspace(self)
    }
    fn memory(&self) -> Option<String> {
        Editor::memory(self)
    }
}

/// An [`Editor`] whose type is chosen at run time.
pub struct BoxEditor(Box<dyn AnyEditor>);

impl BoxEditor {
    /// Moves an editor into a box, which hides its type.
    pub fn new(editor: impl Editor + 'static) -> Self {
        Self(Box::new(editor))
    }
}

impl Editor for BoxEditor {
    async fn locate(&mut self, tool: EditTool, step: &EditStep) -> Result<EditStep, DeviceError> {
        self.0.locate(tool, step).await
    }
    async fn edit(&mut self, tool: EditTool, located: &EditStep) -> Result<Edited, DeviceError> {
        self.0.edit(tool, located).await
    }
    fn workspace(&self) -> String {
        self.0.workspace()
    }
    fn memory(&self) -> Option<String> {
        self.0.memory()
    }
}

macro_rules! opaque {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}
opaque!(BoxComputer BoxEditor BoxTextRecognizer BoxScreen BoxShell);
