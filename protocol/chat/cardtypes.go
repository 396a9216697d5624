package chat

// The shapes of cards, under the names that authors of Python agents know. Text
// that may be left out is left out when it is "". The Type of a node need not be
// set.

// A CarouselCard shows items side by side; each can be chosen.
type CarouselCard struct {
	Title    string         `json:"title,omitempty"`
	Subtitle string         `json:"subtitle,omitempty"`
	Items    []CarouselItem `json:"items" parley:"minitems=1"`
}

// A CarouselItem is one item of a [CarouselCard].
type CarouselItem struct {
	ID            string          `json:"id"`
	Image         string          `json:"image,omitempty"` // a URL
	Title         string          `json:"title"`
	Subtitle      string          `json:"subtitle,omitempty"`
	Badges        []CarouselBadge `json:"badges,omitempty"`
	SecondaryText string          `json:"secondary_text,omitempty"`
	PrimaryCta    CtaAction       `json:"primary_cta"`
}

// A CarouselBadge is a word on an item.
type CarouselBadge struct {
	Label   string `json:"label"`
	Variant string `json:"variant,omitempty" parley:"literal=info|success|warning"`
}

// A CtaAction (call to action) is a button. Pressed, it answers with Selection,
// whose values are what JSON knows; in an answer they are text, numbers and
// booleans.
type CtaAction struct {
	Label     string         `json:"label"`
	Selection map[string]any `json:"selection"`
	Primary   bool           `json:"primary" parley:"default=false"`
}

// A DetailCard shows one thing.
type DetailCard struct {
	Title       string            `json:"title"`
	HeroImage   string            `json:"hero_image,omitempty"` // a URL
	SummaryRows []SummaryRow      `json:"summary_rows,omitempty"`
	SubOptions  *DetailSubOptions `json:"sub_options"`
	Ctas        []CtaAction       `json:"ctas" parley:"minitems=1"`
}

// A SummaryRow is a line of a [DetailCard] or a [ReviewCard].
type SummaryRow struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// DetailSubOptions are choices within a [DetailCard].
type DetailSubOptions struct {
	Name    string            `json:"name"`
	Kind    string            `json:"kind" parley:"literal=radio|select"`
	Label   string            `json:"label"`
	Choices []SubOptionChoice `json:"choices" parley:"minitems=1"`
}

// A SubOptionChoice is one of [DetailSubOptions].
type SubOptionChoice struct {
	Value         string `json:"value"`
	Label         string `json:"label"`
	SecondaryText string `json:"secondary_text,omitempty"`
}

// A FormCard asks for input.
type FormCard struct {
	Title     string      `json:"title,omitempty"`
	Fields    []FormField `json:"fields" parley:"minitems=1"`
	SubmitCta CtaAction   `json:"submit_cta"`
}

// A FormField is a field of a [FormCard]. One of the kind select has options.
type FormField struct {
	Name        string        `json:"name"`
	Kind        string        `json:"kind" parley:"literal=text|number|email|select|checkbox"`
	Label       string        `json:"label"`
	Required    bool          `json:"required" parley:"default=false"`
	Options     []FieldOption `json:"options,omitempty"`
	Placeholder string        `json:"placeholder,omitempty"`
}

// A FieldOption is an option of a [FormField] or an [InputNode].
type FieldOption struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// A ReviewCard asks for approval.
type ReviewCard struct {
	Title       string       `json:"title"`
	SummaryRows []SummaryRow `json:"summary_rows" parley:"minitems=1"`
	ApproveCta  CtaAction    `json:"approve_cta"`
	RejectCta   *CtaAction   `json:"reject_cta"`
}

// A CustomCard is a tree of nodes, at most [MaxCardDepth] deep.
type CustomCard struct {
	Root Node `json:"root"`
}

// Node is a node of a [CustomCard].
type Node interface{ node(nodes) }

type nodes = func(TextNode, HeadingNode, ImageNode, BadgeNode, DividerNode, SectionNode, GroupNode, ButtonNode, InputNode, ListNode, ChoiceGridNode)

// TextNode is text.
type TextNode struct {
	Type  string `json:"type" parley:"literal=text"`
	Value string `json:"value"`
	Style string `json:"style,omitempty" parley:"literal=body|muted|emphasis"`
}

// HeadingNode is a heading.
type HeadingNode struct {
	Type  string `json:"type" parley:"literal=heading"`
	Value string `json:"value"`
	Level int    `json:"level,omitempty" parley:"literal=1|2|3,default=2"` // 0 means 2
}

// ImageNode is an image.
type ImageNode struct {
	Type        string `json:"type" parley:"literal=image"`
	Src         string `json:"src"` // a URL
	Alt         string `json:"alt,omitempty"`
	AspectRatio string `json:"aspect_ratio,omitempty"`
}

// BadgeNode is a word that stands out.
type BadgeNode struct {
	Type    string `json:"type" parley:"literal=badge"`
	Label   string `json:"label"`
	Variant string `json:"variant,omitempty" parley:"literal=info|success|warning"`
}

// DividerNode is a line between its neighbours.
type DividerNode struct {
	Type string `json:"type" parley:"literal=divider"`
}

// SectionNode is a part with a title.
type SectionNode struct {
	Type     string `json:"type" parley:"literal=section"`
	Title    string `json:"title,omitempty"`
	Subtitle string `json:"subtitle,omitempty"`
	Children []Node `json:"children" parley:"minitems=1"`
}

// GroupNode lays its children out.
type GroupNode struct {
	Type      string `json:"type" parley:"literal=group"`
	Direction string `json:"direction" parley:"literal=row|column"`
	Gap       *int   `json:"gap"`
	Children  []Node `json:"children" parley:"minitems=1"`
}

// ButtonNode is a button.
type ButtonNode struct {
	Type    string       `json:"type" parley:"literal=button"`
	Label   string       `json:"label"`
	Primary bool         `json:"primary" parley:"default=false"`
	Action  ButtonAction `json:"action"`
}

// A ButtonAction is the answer of a [ButtonNode] or a [ListItem].
type ButtonAction struct {
	Selection map[string]any `json:"selection"`
}

// InputNode is a field for input.
type InputNode struct {
	Type string `json:"type" parley:"literal=input"`
	FormField
}

// ListNode is a list.
type ListNode struct {
	Type  string     `json:"type" parley:"literal=list"`
	Items []ListItem `json:"items" parley:"minitems=1"`
}

// A ListItem is an item of a [ListNode].
type ListItem struct {
	Children []Node        `json:"children" parley:"minitems=1"`
	Action   *ButtonAction `json:"action"`
}

// ChoiceGridNode offers choices, of which one or, with Multi, several are made.
type ChoiceGridNode struct {
	Type    string       `json:"type" parley:"literal=choice_grid"`
	Name    string       `json:"name"`
	Choices []GridChoice `json:"choices" parley:"minitems=1"`
	Multi   bool         `json:"multi" parley:"default=false"`
}

// A GridChoice is a choice of a [ChoiceGridNode].
type GridChoice struct {
	Value string `json:"value"`
	Label string `json:"label"`
	Image string `json:"image,omitempty"` // a URL
}

func (TextNode) node(nodes)       {}
func (HeadingNode) node(nodes)    {}
func (ImageNode) node(nodes)      {}
func (BadgeNode) node(nodes)      {}
func (DividerNode) node(nodes)    {}
func (SectionNode) node(nodes)    {}
func (GroupNode) node(nodes)      {}
func (ButtonNode) node(nodes)     {}
func (InputNode) node(nodes)      {}
func (ListNode) node(nodes)       {}
func (ChoiceGridNode) node(nodes) {}

func (CarouselCard) cardKind() string { return "carousel" }
func (DetailCard) cardKind() string   { return "detail" }
func (FormCard) cardKind() string     { return "form" }
func (ReviewCard) cardKind() string   { return "review" }
func (CustomCard) cardKind() string   { return "custom" }
